// Training on several processes writes the files of one process, with each MPI library.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "runtime/threads/threads.h"
#include "tests/tools/processes_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A language whose words correspond one to one to those of another. Five batches in an epoch, in updates of three and two.
constexpr const char* kTranslator = R"job(
graph: "translator.pbtxt"
arg: "embed = 12, hidden = 16, source_vocabulary = vocabulary(left), target_vocabulary = vocabulary(right)"
data {
  train: ["../../data/left", "../../data/right"]
  valid: ["../../data/left", "../../data/right"]
  test: ["../../data/left", "../../data/right"]
  format: PARALLEL
  field { name: "left"  column: 0 split: SPACE vocabulary { size: 10 } }
  field { name: "right" column: 1 split: SPACE vocabulary { size: 10 } }
  feed: "source = [left, '</s>'], source_lengths = length([left, '</s>'])"
  feed: "previous = ['<s>', right], target = [right, '</s>'], target_lengths = length([right, '</s>'])"
  batch { rows: 8 bucket_by: "left" }
}
train {
  minimize: "loss"  per: "1" accumulate: 3 initialize { match: "*" uniform: 0.3 }
  optimizer { adam { learning_rate: 0.02 } }  clip { global_norm: 5 }
  validate { keep_highest: "score" samples: 2 } average { last: 2 } epochs: 4
}
report: "perplexity = exp(sum(nll) / sum(target_lengths)), score = bleu(right, say, tokenize='none'), x = exact(target, target)"
infer { name: "say" write: TEXT field: "right"
        generate { scan: "decode" feed: "y" score: "logits" begin: "<s>" end: "</s>" max_length: "source_time + 6" } }
)job";

INSTANTIATE_TEST_SUITE_P(Libraries, SeveralProcessesOf, testing::Values("openmpi", "mpich"),
                         [](const auto& info) { return info.param; });

TEST_P(SeveralProcessesOf, LeaveTheFilesOfOne) {
  const Ran one = graphrun(job("one"));
  ASSERT_EQ(one.code, 0) << one.err;
  for (const int n : {1, 2, 3, 4}) {
    const std::string out = "of" + std::to_string(n);
    const Ran ran = mpirun(GetParam(), n, job(out));
    ASSERT_EQ(ran.code, 0) << ran.err;
    expect_same(out, "one");
    EXPECT_EQ(ran.out, one.out);
    EXPECT_EQ(times(ran.err, "epoch 3/3  loss"), 1u) << ran.err;
    if (n > 1) {
      EXPECT_THAT(ran.err, AllOf(HasSubstr("processes: " + std::to_string(n) + " on 1 machine, 1 thread each, "),
                                 Not(HasSubstr("note: processes wait")),
                                 testing::ContainsRegex("epoch 3/3 .*\\(communication [0-9]+ %, waiting [0-9]+ %\\)")));
    }
  }
}

TEST_P(SeveralProcessesOf, SayWhatWouldMakeBatchesAlike) {
  const Ran ran = mpirun(GetParam(), 2, job("out", {"--set", "data.batch.bucket_by="}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("note: processes wait for the largest batch of a round; with data.batch.bucket_by, "));
}

// After any batch of an update, also with a schedule that goes back to the best parameters.
TEST_P(SeveralProcessesOf, ValidateWithinUpdates) {
  const Words more = {"--set", "train.validate.every_epochs=0",   "--set", "train.validate.times_per_epoch=3",
                      "--set", "train.schedule.per_epoch.from=1", "--set", "train.average.last=3"};
  const Ran one = graphrun(job("one", more));
  ASSERT_EQ(one.code, 0) << one.err;
  const Ran ran = mpirun(GetParam(), 3, job("three", more));
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_same("three", "one");
  EXPECT_EQ(ran.out, one.out);
}

// A translator: validations, samples, the mean of several models, and then evaluate and infer.
TEST_P(SeveralProcessesOf, ShareWhatIsEvaluatedAndWritten) {
  write_word_pairs(40, 4, 3);
  write("graphs/jobs/say.pbtxt", kTranslator);
  const Words words = {"train", "graphs/jobs/say.pbtxt", "--threads", "1", "--out"};
  const Ran one = graphrun(words + Words{"one"});
  ASSERT_EQ(one.code, 0) << one.err;
  const Ran three = mpirun(GetParam(), 3, words + Words{"three"});
  ASSERT_EQ(three.code, 0) << three.err;
  expect_same("three", "one");
  EXPECT_EQ(three.out, one.out);
  EXPECT_EQ(times(three.err, "sample 2  say: "), times(one.err, "sample 2  say: ")) << three.err;

  const Words evaluate = {"evaluate", "one", "--threads", "1", "--details", "--each"};
  const Ran evaluated = graphrun(evaluate + Words{"each"}), shared = mpirun(GetParam(), 3, evaluate + Words{"each3"});
  EXPECT_EQ(shared.code, 0) << shared.err;
  EXPECT_EQ(shared.out, evaluated.out);
  EXPECT_EQ(read("each3"), read("each"));

  std::string lines;
  for (int i = 0; i < 25; ++i) lines += read("data/left") + "\n";
  write("lines", lines);
  const Words infer = {"infer", "one", "lines", "--rows", "3", "--threads", "2"};
  const Ran inferred = graphrun(infer), shared_lines = mpirun(GetParam(), 3, infer);
  EXPECT_EQ(shared_lines.code, 0) << shared_lines.err;
  EXPECT_TRUE(shared_lines.out == inferred.out);
  EXPECT_EQ(times(inferred.out, "\n"), 25u * 41);
  const Words bad = {"infer", "one", "bad", "--read-ahead", "0", "--rows", "2", "--bad-lines"};
  write("bad", "uno dos\n\xff\ntres\n");
  const Ran warned = mpirun(GetParam(), 2, bad + Words{"empty"});
  EXPECT_EQ(warned.code, 0) << warned.err;
  const Ran warned_once = graphrun(bad + Words{"empty"});
  EXPECT_EQ(times(warned.err, "warning["), 1u) << warned.err;
  EXPECT_EQ(warned.err, warned_once.err);
  EXPECT_EQ(warned.out, warned_once.out);
  const Ran ended = mpirun(GetParam(), 2, bad + Words{"stop"});
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_EQ(times(ended.err, "error["), 1u) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\n"));  // the answer to the line before it
  EXPECT_EQ(mpirun(GetParam(), 2, {"infer", "one"}).code, 2);
}

// If no process has more than one batch of an update, its own sum is that batch's gradient, so files are those of one process.
// Otherwise bits depend on the number of processes, but not on chance, nor on an interruption.
TEST_P(SeveralProcessesOf, AddTheirOwnBatchesFirst) {
  const Words by_process = {"--set", "train.sum=BY_PROCESS"};
  const Ran one = graphrun(job("one", by_process));
  ASSERT_EQ(one.code, 0) << one.err;
  const Ran four = mpirun(GetParam(), 4, job("four", by_process));
  ASSERT_EQ(four.code, 0) << four.err;
  expect_same("four", "one");
  EXPECT_EQ(four.out, one.out);
  ASSERT_EQ(graphrun(job("in_order")).code, 0);
  EXPECT_EQ(read("one/metrics.jsonl"), read("in_order/metrics.jsonl"));

  const Words more = by_process + Words{"--set", "train.validate.every_epochs=0", "--set", "train.validate.times_per_epoch=3"};
  const Ran two = mpirun(GetParam(), 2, job("two", more));
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(mpirun(GetParam(), 2, job("two_again", more)).code, 0);
  expect_same("two_again", "two");
  EXPECT_EQ(mpirun(GetParam(), 2, job("parts", more + Words{"--set", "train.updates=3"})).code, 0);
  EXPECT_EQ(mpirun(GetParam(), 2, job("parts", more + Words{"--resume"})).code, 0);
  EXPECT_TRUE(read_below("parts/best", "parameters.safetensors") == read_below("two/best", "parameters.safetensors"));
  ASSERT_EQ(graphrun(job("alone", more)).code, 0);
  const auto loss = [&](const std::string& out) {
    const std::string text = read(out + "/metrics.jsonl");
    return std::atof(text.c_str() + text.rfind("\"loss\":") + 7);
  };
  EXPECT_NEAR(loss("two"), loss("alone"), 1e-3 * loss("alone"));
}

// Process 1 does not begin before process 0 has got the signal, which it takes only when they train.
TEST_P(SeveralProcessesOf, StopForASignalThatComesBeforeTheyHaveMet) {
  const std::string pid = "'" + path("pid") + "'";
  write("start",
        "#!/bin/sh\nrank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\nif [ \"$rank\" = 0 ]; then echo $$ > " + pid +
            "; fi\n"
            "if [ \"$rank\" = 1 ]; then\n  until [ -s " +
            pid +
            " ]; do sleep 0.05; done\n"
            "  for i in $(seq 100); do\n"  // until SIGUSR1, 0x200, is blocked
            "    grep -q '^SigBlk:.*[2367abef]..$' /proc/$(cat " +
            pid +
            ")/status && break\n    sleep 0.05\n  done\n"
            "  kill -USR1 $(cat " +
            pid + ")\nfi\nexec \"$@\"\n");
  fs::permissions(root_ / "start", fs::perms::owner_all);
  const Ran ran = mpirun(GetParam(), 2, job("out"), "start");
  EXPECT_EQ(ran.code, 128 + SIGTERM);
  EXPECT_THAT(ran.err, HasSubstr("stopped by signal 15 at step 1;"));
}

// The last processes have no slice of the slots of a small network.
TEST_P(SeveralProcessesOf, ShardTheOptimizerOfFewNumbers) {
  write_large_segmenter();
  const Words small = {"--set", "train.shard_optimizer=true", "--set", "embed=2", "--set", "hidden=2",
                       "--set", "train.accumulate=5"};
  const Ran one = graphrun(job("one", small));
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.err, HasSubstr("from the best parameters on"));
  const Ran ran = mpirun(GetParam(), 4, job("of4", small));
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_same("of4", "one");
}

// Each process has only its slices of the slots. Weights are in several buckets; updates are validated and saved in their
// middle, and the schedule goes back to the best parameters and slots.
TEST_P(SeveralProcessesOf, ShardTheOptimizer) {
  write_large_segmenter();
  const Words sharded = {"--set", "train.shard_optimizer=true"};
  const Words within = {"--set", "train.validate.every_epochs=0", "--set", "train.validate.times_per_epoch=3"};
  const Ran one = graphrun(job("one", within + sharded));
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.err, AllOf(HasSubstr("from the best parameters on"), Not(HasSubstr("the optimizer is sharded"))));
  for (const int n : {3, 4}) {
    const std::string out = "of" + std::to_string(n);
    const Ran ran = mpirun(GetParam(), n, job(out, within + sharded));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("; the optimizer is sharded\n"));
    expect_same(out, "one");
    EXPECT_EQ(ran.out, one.out);
  }
  // With and without, although the sums' last bits depend on the number of processes.
  const Words by_process = {"--set", "train.sum=BY_PROCESS"};
  const Ran two = mpirun(GetParam(), 2, job("two", within + by_process));
  ASSERT_EQ(two.code, 0) << two.err;
  const Ran two_sharded = mpirun(GetParam(), 2, job("two_sharded", within + by_process + sharded));
  ASSERT_EQ(two_sharded.code, 0) << two_sharded.err;
  const auto with = left_in("two_sharded");
  for (const auto& [name, text] : left_in("two")) {
    if (!name.ends_with(".safetensors")) continue;
    EXPECT_TRUE(with.at(name) == text) << name;
  }
}

// One process stops within an update; others continue, with the optimizer sharded or not.
TEST_P(SeveralProcessesOf, ContinueWithAShardedOptimizer) {
  write_large_segmenter();
  const auto sharded = [](const char* value) { return "train.shard_optimizer=" + std::string(value); };
  ASSERT_EQ(graphrun(job("one", {"--set", sharded("true")})).code, 0);
  EXPECT_EQ(graphrun_under("int:metrics.jsonl:3", job("parts")).code, 128 + SIGINT);
  const Words more = {"--resume", "--set", "train.updates=4", "--set", sharded("true")};
  const Ran three = mpirun(GetParam(), 3, job("parts", more));
  ASSERT_EQ(three.code, 0) << three.err;
  const Ran two = mpirun(GetParam(), 2, job("parts", {"--resume", "--set", "train.updates=5", "--set", sharded("false")}));
  ASSERT_EQ(two.code, 0) << two.err;
  const Ran four = mpirun(GetParam(), 4, job("parts", {"--resume", "--set", sharded("true")}));
  ASSERT_EQ(four.code, 0) << four.err;
  EXPECT_THAT(four.err, HasSubstr("continuing from step 5"));
  for (const std::string file : {"parameters", "slots", "best_parameters", "best_slots"}) {
    EXPECT_TRUE(read("parts/checkpoints/step-000006/" + file + ".safetensors") ==
                read("one/checkpoints/step-000006/" + file + ".safetensors"))
        << file;
  }
  EXPECT_TRUE(read_below("parts/best", "parameters.safetensors") == read_below("one/best", "parameters.safetensors"));
}

// Process 0 repeats the steps alone, with all slots of the last checkpoint.
TEST_P(SeveralProcessesOf, FindWhatIsNotFiniteWithAShardedOptimizer) {
  const Words more = {"--set", "train.shard_optimizer=true", "--set", "train.optimizer.adam.learning_rate=1e38"};
  const Ran one = graphrun(job("one", more));
  const Ran two = mpirun(GetParam(), 2, job("two", more));
  EXPECT_NE(one.code, 0);
  EXPECT_EQ(two.code, one.code) << two.err;
  const auto error = [](const std::string& text) { return text.substr(std::min(text.find("error[E0670"), text.size())); };
  const auto without_folder = [&](std::string text, const std::string& out) {
    for (std::size_t at; (at = text.find(out + "/")) != std::string::npos;) text.erase(at, out.size());
    return text;
  };
  EXPECT_EQ(without_folder(error(two.err), "two"), without_folder(error(one.err), "one")) << one.err << two.err;
}

// Each process has half of the cores for itself, unless that is fewer than its threads.
TEST_P(SeveralProcessesOf, DivideTheCores) {
  if (core_count() < 2) GTEST_SKIP() << "there is one core";
  const auto cores = [&](const std::string& out, int threads) {
    write("wait_for_cores", "#!/bin/sh\n\"$@\" & process=$!; while [ ! -s " + out +
                                "/metrics.jsonl ]; do sleep 0.1; done\n"
                                "grep -h Cpus_allowed_list /proc/$process/status > " +
                                out + ".${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; wait $process\n");
    fs::permissions(root_ / "wait_for_cores", fs::perms::owner_all);
    const Words more = {"--threads", std::to_string(threads), "--set", "train.updates=60", "--set", "train.epochs=1000"};
    Words words = job(out);
    words.erase(std::find(words.begin(), words.end(), "--threads"), std::find(words.begin(), words.end(), "--threads") + 2);
    const Ran ran = mpirun(GetParam(), 2, words + more, "wait_for_cores");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return std::pair(read(out + ".0"), read(out + ".1"));
  };
  const auto [first, second] = cores("divided", 1);
  EXPECT_NE(first, second);
  const auto [whole, same] = cores("whole", core_count());
  EXPECT_EQ(whole, same);
}

TEST_P(SeveralProcessesOf, ContinueWithAnotherNumber) {
  ASSERT_EQ(graphrun(job("one")).code, 0);
  // One process stops within an update, then four processes continue, then two.
  EXPECT_EQ(graphrun_under("int:metrics.jsonl:3", job("parts")).code, 128 + SIGINT);
  const Ran four = mpirun(GetParam(), 4, job("parts", {"--resume", "--set", "train.updates=4"}));
  ASSERT_EQ(four.code, 0) << four.err;
  const Ran two = mpirun(GetParam(), 2, job("parts", {"--resume"}));
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(two.err, HasSubstr("continuing from step 4"));
  EXPECT_EQ(
      read("parts/best/" + fs::directory_iterator(root_ / "parts/best")->path().filename().string() +
           "/parameters.safetensors"),
      read("one/best/" + fs::directory_iterator(root_ / "one/best")->path().filename().string() + "/parameters.safetensors"));
}

TEST_P(SeveralProcessesOf, SayOnceWhatIsWrong) {
  const Ran many = mpirun(GetParam(), 3, job("out", {"--set", "train.accumulate=2"}));
  EXPECT_EQ(many.code, 2) << many.err;
  EXPECT_THAT(many.err, HasSubstr("error[E0533 too-few-batches]: 3 processes share the batches of an update; this job has 2\n"
                                  "  help: --set train.accumulate=3 changes the job: its updates see 3 times as much data"));
  EXPECT_EQ(times(many.err, "E0533"), 1u) << many.err;
  const Ran none = mpirun(GetParam(), 3, {"train", "none.pbtxt", "--out", "out"});
  EXPECT_EQ(none.code, graphrun({"train", "none.pbtxt", "--out", "out"}).code);
  EXPECT_EQ(times(none.err, "error["), 1u) << none.err;
  EXPECT_FALSE(exists("out"));
}

TEST_P(SeveralProcessesOf, RefuseOtherDataOnOneOfThem) {
  const std::string data = read("data/train.seg");
  // Process 1 reads another file of the same name.
  write("other/data/train.seg", data + "我 你\n");
  for (const char* same : {"data/dev.seg", "graphs"}) {
    fs::create_directories((root_ / "other" / same).parent_path());
    fs::create_symlink(root_ / same, root_ / "other" / same);
  }
  write_start("start.sh", "cd other");
  fs::remove(root_ / "other/graphs");
  fs::copy(root_ / "graphs", root_ / "other/graphs", fs::copy_options::recursive);
  const Ran ran = mpirun(GetParam(), 2, job("out"), "start.sh");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("error[E0534 unlike-processes]: process 1 on '"), HasSubstr(" has different data: '"),
                             HasSubstr("train.seg' has " + std::to_string(data.size() + 8) + " bytes there, has " +
                                       std::to_string(data.size()) + " bytes here")));
}

// One of two machines computes wrong results.
TEST_P(SeveralProcessesOf, SayWhoseParametersDiffer) {
  write_start("faulty", export_mpi_fault("wrong", GetParam()));
  const Ran ran = mpirun(GetParam(), 2, job("out"), "faulty");
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("error[E0535 unequal-parameters]: at step 2, parameter '"), HasSubstr("' of process 1 on '"),
                    HasSubstr(" differs from that of process 0"), HasSubstr("note: the last checkpoint is kept")));
  EXPECT_EQ(times(ran.err, "E0535"), 1u) << ran.err;
  const Ran rest = graphrun(job("out", {"--resume"}));
  EXPECT_EQ(rest.code, 0) << rest.err;
}

// MPI_Finalize may wait for messages that nobody receives any more; processes that end with an error do not wait for it for
// long.
TEST_P(SeveralProcessesOf, EndWithAnErrorAlthoughMpiHangs) {
  write_start("faulty", export_mpi_fault("hang", GetParam()));
  ASSERT_EQ(graphrun(job("out", {"--set", "train.epochs=1"})).code, 0);
  const Ran ran = mpirun(GetParam(), 2, job("out"), "faulty");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(times(ran.err, "error["), 1u) << ran.err;
}

// Both processes are bound to one core, although their launcher may use more.
TEST_P(SeveralProcessesOf, SayThatTheyAreBound) {
  write("bound", "#!/bin/sh\ncores=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')\nexec taskset -c \"$cores\" \"$@\"\n");
  fs::permissions(root_ / "bound", fs::perms::owner_all);
  if (core_count() < 2) GTEST_SKIP() << "there is one core, to which every process is bound";
  const Ran ran = mpirun(GetParam(), 2, job("out", {"--set", "train.epochs=1"}), "bound");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("warning[E0536 bound-to-cores]: process 0 on '"));
  EXPECT_THAT(ran.err, HasSubstr(" may use 1 of "));
  EXPECT_THAT(ran.err, HasSubstr("help: mpirun --bind-to none"));
  const Ran free = mpirun(GetParam(), 2, job("free", {"--set", "train.epochs=1"}));
  EXPECT_EQ(free.err.find("E0536"), std::string::npos) << free.err;
}

// A file that GNU parallel divides, as on several machines.
TEST_F(SeveralProcesses, DecodeBlocksOfAFile) {
  if (!fs::exists("/usr/bin/parallel")) GTEST_SKIP() << "GNU parallel is not installed here; tools/setup --ci installs it";
  ASSERT_EQ(graphrun(job("one", {"--set", "train.epochs=1"})).code, 0);
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += i % 7 == 0 ? "我你天上\n" : "天下大家中国人\n";
  write("big.txt", lines);
  const std::string program = "'" + tests::build_folder() + "/graphrun'";
  const Ran parted =
      run("/bin/sh", {"-c", "parallel --pipe -k --block 2k -j 2 " + program + " infer one --threads 1 < big.txt"});
  EXPECT_EQ(parted.code, 0) << parted.err;
  const Ran whole = graphrun({"infer", "one", "big.txt", "--threads", "1"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_TRUE(parted.out == whole.out) << parted.out;
}

TEST_F(SeveralProcesses, AreStartedByTheOption) {
  if (!can_run("openmpi") && !can_run("mpich"))
    GTEST_SKIP() << "no MPI library is installed here; tools/setup --mpi installs two";
  const Ran one = graphrun(job("one"));
  ASSERT_EQ(one.code, 0) << one.err;
  const Ran ran = graphrun(job("two", {"--processes", "2"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, one.out);
  expect_same("two", "one");
  EXPECT_EQ(graphrun(job("two", {"--processes", "2"})).code, 2);  // the folder contains a run
  for (const char* wrong : {"0", "-1", "two"}) EXPECT_EQ(graphrun(job("out", {"--processes", wrong})).code, 2) << wrong;
  const Ran silence = graphrun(job("out", {"--silence", "0"}));
  EXPECT_EQ(silence.code, 2);
  EXPECT_THAT(silence.err, HasSubstr("--silence takes a number of seconds above 0, found '0'"));
  EXPECT_THAT(graphrun(job("out", {"--processes", "2", "--seeds", "1,2"})).err, HasSubstr("each with one process"));
}

// Four parts, in two and three processes; stopped within a window and continued.
TEST_P(SeveralProcessesOf, ShareThePartsOfAStream) {
  write_language_model();
  const Ran one = graphrun(stream_job("one"));
  ASSERT_EQ(one.code, 0) << one.err;
  const Ran three = mpirun(GetParam(), 3, stream_job("three"));
  ASSERT_EQ(three.code, 0) << three.err;
  EXPECT_THAT(three.err, HasSubstr("12 batches per update, 6 rounds"));
  expect_same("three", "one");
  EXPECT_EQ(graphrun_under("int:metrics.jsonl:5", stream_job("parts")).code, 128 + SIGINT);
  const Ran two = mpirun(GetParam(), 2, stream_job("parts", {"--resume"}));
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_TRUE(read_below("parts/best", "parameters.safetensors") == read_below("one/best", "parameters.safetensors"));
  for (const std::string states : {"states-0", "states-1", "states-2", "states-3"}) {
    const std::string file = "/checkpoints/step-000028/" + states + ".safetensors";
    EXPECT_TRUE(read("parts" + file) == read("one" + file)) << states;
  }
  const Ran five = mpirun(GetParam(), 5, stream_job("five"));
  EXPECT_EQ(five.code, 2);
  EXPECT_THAT(five.err, HasSubstr("error[E0533 too-few-batches]: 5 processes share the parts of a stream's window; this job "
                                  "has 4"));
}

}  // namespace
}  // namespace graphrun
