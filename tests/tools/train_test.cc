// From a job to a model, and from a model to text, with the program.
#include <gmock/gmock.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/tensor/safetensors.h"
#include "runtime/threads/threads.h"
#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

// The loss of each epoch.
std::vector<double> losses(const std::string& metrics) {
  std::vector<double> all;
  for (const nlohmann::json& line : json_lines(metrics)) {
    if (line.contains("valid")) all.push_back(line["loss"]);
  }
  return all;
}

class TrainSegmenter : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
  }
};

TEST_F(TrainSegmenter, LearnsAndSegments) {
  const Ran trained = graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--threads", "1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("f1.precision"));
  EXPECT_THAT(trained.err, HasSubstr("vocabularies: characters 12, tags 4"));
  const std::vector<double> loss = losses(read("model/metrics.jsonl"));
  ASSERT_EQ(loss.size(), 8u);
  EXPECT_LT(loss.back(), 0.2 * loss.front());

  // The folder is sufficient.
  std::filesystem::remove_all(root_ / "graphs");
  std::filesystem::remove_all(root_ / "data");
  const std::string lines = "我天上大家\n\n中国人你\n大家大家\n";
  const Ran segmented = graphrun({"infer", "model", "--rows", "2"}, lines);
  ASSERT_EQ(segmented.code, 0) << segmented.err;
  EXPECT_EQ(segmented.out, "我 天上 大家\n\n中国人 你\n大家 大家\n");

  // Unknown characters, a line of spaces, no newline at the end: still a line for each.
  const Ran odd = graphrun({"infer", "model"}, "火星\n  \n我");
  ASSERT_EQ(odd.code, 0) << odd.err;
  EXPECT_EQ(std::count(odd.out.begin(), odd.out.end(), '\n'), 3);
  EXPECT_THAT(without_spaces(odd.out), HasSubstr("火星\n\n我\n"));

  const Ran broken = graphrun({"infer", "model", "--rows", "1", "--bad-lines", "stop"}, "我\n\xFF\n你\n");
  EXPECT_EQ(broken.code, 4);
  EXPECT_EQ(broken.out, "我\n");
  EXPECT_THAT(broken.err, HasSubstr("stdin:2"));
}

TEST_F(TrainSegmenter, EvaluatesAndFetches) {
  const Ran trained = graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=2", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.err, "");
  const Ran given = graphrun({"evaluate", "model", "--data", "data/dev.seg"});
  ASSERT_EQ(given.code, 0) << given.err;
  EXPECT_THAT(given.out, HasSubstr("f1"));
  const Ran own = graphrun({"evaluate", "model", "--json"});
  ASSERT_EQ(own.code, 0) << own.err;
  // This is the validation set of the run, so the figures of the best epoch are reproduced.
  double best = 0;
  for (const nlohmann::json& line : json_lines(read("model/metrics.jsonl"))) {
    if (line.contains("valid")) best = std::max(best, line["valid"]["f1"].get<double>());
  }
  EXPECT_EQ(nlohmann::json::parse(own.out)["f1"].get<double>(), best);

  const Ran fetched = graphrun({"infer", "model", "--fetch", "path", "--fetch-out", "path.safetensors", "--rows", "2"},
                               "我天上\n大家\n中国人\n");
  ASSERT_EQ(fetched.code, 0) << fetched.err;
  EXPECT_EQ(std::count(fetched.out.begin(), fetched.out.end(), '\n'), 3);
  const NamedTensors tensors = read_safetensors(path("path.safetensors"));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors.at("0/path").sizes(), (Sizes{3, 2}));
  EXPECT_EQ(tensors.at("1/path").sizes(), (Sizes{3, 1}));
}

TEST_F(TrainSegmenter, SettingsReachJobAndGraph) {
  const Ran trained = graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1", "--set",
                                "cell=cells/gru.pbtxt", "--set", "hidden=8", "--seed", "5"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("seed 5"));
  EXPECT_TRUE(exists("model/graphs/cells/gru.pbtxt"));
  EXPECT_EQ(graphrun({"infer", "model"}, "我\n").code, 0);
}

TEST_F(TrainSegmenter, ARunIsNeverOverwritten) {
  const std::vector<std::string> train = {"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1"};
  ASSERT_EQ(graphrun(train).code, 0);
  const std::string metrics = read("model/metrics.jsonl");
  const Ran again = graphrun(train);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("E0520"));
  std::vector<std::string> resumed = train;
  resumed.push_back("--resume");
  const Ran finished = graphrun(resumed);
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.err, HasSubstr("finished"));
  EXPECT_EQ(read("model/metrics.jsonl"), metrics);
  resumed.insert(resumed.end(), {"--set", "hidden=8"});
  const Ran other = graphrun(resumed);
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("E0523"));
}

TEST_F(TrainSegmenter, MistakesEndBeforeTraining) {
  const auto code_of = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"train", "graphs/jobs/segment.pbtxt", "--out", "wrong"};
    all.insert(all.end(), words.begin(), words.end());
    const Ran ran = graphrun(all);
    EXPECT_FALSE(exists("wrong")) << "a folder was left behind";
    EXPECT_THAT(ran.err, HasSubstr("error["));
    return ran.code;
  };
  EXPECT_EQ(code_of({"--set", "train.minimize=lose"}), 3);
  EXPECT_EQ(code_of({"--set", "cell=cells/none.pbtxt"}), 3);
  EXPECT_EQ(code_of({"--set", "train.epoch=3"}), 3);
  EXPECT_EQ(code_of({"--set", "data.train=none.seg"}), 4);
  EXPECT_EQ(code_of({"--device", "gpu"}), 2);
  EXPECT_EQ(graphrun({"train", "graphs/jobs/segment.pbtxt"}).code, 2);
  EXPECT_EQ(graphrun({"trane"}).code, 2);
  EXPECT_EQ(graphrun({"infer", "none"}).code, 4);
}

TEST_F(TrainSegmenter, DivergingStopsAndKeepsWhatWasGood) {
  const Ran ran = graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.clip.global_norm=0",
                            "--set", "train.optimizer.sgd.learning_rate=1e30"});
  EXPECT_EQ(ran.code, 6) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("error[E0670 diverged]: step 2 (epoch 1, batch 2): loss nan"));
  // The equation in which numbers overflowed, found by repeating the steps.
  EXPECT_THAT(ran.err, HasSubstr("graphs/cells/atr.pbtxt:14:"));
  EXPECT_THAT(ran.err, HasSubstr("the first that is not finite is 'read.forward.wx' (matmul): element [0, 0] is inf"));
  EXPECT_THAT(ran.err, HasSubstr("the last checkpoint is kept: model/checkpoints/step-000000"));
  EXPECT_TRUE(exists("model/checkpoints/step-000000/manifest.json"));
}

TEST_F(TrainSegmenter, TheLongestBatchFailsBeforeTheFirstStepOrNever) {
  std::string data = read("data/train.seg");
  for (int i = 0; i < 200000; ++i) data += "我";
  write("data/train.seg", data + "\n");
  const Ran ran = graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "hidden=2048"});
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err, HasSubstr("error[E0503 out-of-memory]: no memory for "));
  EXPECT_THAT(ran.err, HasSubstr("batch = 8"));
  EXPECT_THAT(ran.err, Not(HasSubstr("epoch 1/8")));
  EXPECT_FALSE(exists("model"));
}

TEST_F(TrainSegmenter, AJobMayComeFromAPipe) {
  const auto train = [&](const std::string& sets) {
    const std::string program =
        tests::build_folder() + "/graphrun train /dev/stdin --out model --set graph=graphs/tagger.pbtxt";
    const std::string data = " --set data.train=data/train.seg --set data.valid=data/dev.seg --set data.test=data/dev.seg ";
    return run("/bin/sh", {"-c", "cat graphs/jobs/segment.pbtxt | " + program + data + sets});
  };
  const Ran wrong = train("--set train.epochs=0");
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("epochs"), Not(HasSubstr("the job has no graph"))));
  const Ran trained = train("--set train.epochs=1");
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(exists("model/best"));
}

TEST_F(TrainSegmenter, TheNumberOfThreadsChangesNoBit) {
  if (core_count() < 2) GTEST_SKIP() << "two threads need two cores";
  for (const std::string threads : {"2", "1"}) {
    const Ran ran = graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model" + threads, "--threads", threads, "--set",
                              "train.epochs=2", "--set", "hidden=100", "--set", "cell=cells/lstm.pbtxt"});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  EXPECT_EQ(read("model1/metrics.jsonl"), read("model2/metrics.jsonl"));
  for (const char* part : {"parameters.safetensors", "slots.safetensors"}) {
    EXPECT_EQ(read(std::string("model1/checkpoints/step-000010/") + part),
              read(std::string("model2/checkpoints/step-000010/") + part));
  }
}

// Products of the size that threads share, as toys have none.
TEST_F(TrainSegmenter, TheNumberOfThreadsChangesNoBitOfATranslator) {
  if (core_count() < 2) GTEST_SKIP() << "two threads need two cores";
  const std::string tatoeba = tests::source_folder() + "/graphs/data/tatoeba/dev.tsv.gz";
  ASSERT_EQ(run("/bin/sh", {"-c", "zcat " + tatoeba + " | head -n 200 > data/pairs.tsv"}).code, 0);
  for (const std::string threads : {"2", "1"}) {
    std::vector<std::string> words = {"train",     tests::source_folder() + "/graphs/jobs/translate_quick.pbtxt",
                                      "--out",     "model" + threads,
                                      "--threads", threads};
    for (const char* setting : {"train.updates=2", "data.train=data/pairs.tsv", "data.valid=data/pairs.tsv",
                                "data.test=data/pairs.tsv", "data.field.english.vocabulary.size=500",
                                "data.field.german.vocabulary.size=500", "infer.translate.generate.max_length=3"}) {
      words.insert(words.end(), {"--set", setting});
    }
    const Ran ran = graphrun(words);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  EXPECT_EQ(read("model1/metrics.jsonl"), read("model2/metrics.jsonl"));
  EXPECT_EQ(read("model1/checkpoints/step-000002/parameters.safetensors"),
            read("model2/checkpoints/step-000002/parameters.safetensors"));
}

TEST_F(TrainSegmenter, ADamagedModelIsRefused) {
  ASSERT_EQ(graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1"}).code, 0);
  const std::string vocabulary = read("model/vocabularies/characters.txt");
  write("model/vocabularies/characters.txt", vocabulary + "x\n");
  const Ran changed = graphrun({"infer", "model"}, "我\n");
  EXPECT_EQ(changed.code, 4);
  EXPECT_THAT(changed.err, HasSubstr("characters.txt"));
  write("model/vocabularies/characters.txt", vocabulary);
  write("model/manifest.json", "{\"format\":\"graphrun model\",\"version\":99,\"files\":{}}");
  EXPECT_THAT(graphrun({"infer", "model"}, "我\n").err, HasSubstr("E0664"));
}

TEST_F(TrainSegmenter, OnlyWhatTheManifestListsIsRead) {
  ASSERT_EQ(graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1"}).code, 0);
  const std::string written = read("model/manifest.json");
  const auto refused = [&](const std::string& why) {
    const Ran ran = graphrun({"infer", "model"}, "我\n");
    EXPECT_EQ(ran.code, 4) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(why));
  };
  const auto with = [&](const std::string& key, const nlohmann::json& value, const std::string& why) {
    auto manifest = nlohmann::json::parse(written);
    manifest[nlohmann::json::json_pointer(key)] = value;
    write("model/manifest.json", manifest.dump(1));
    refused(why);
  };
  with("/files", nlohmann::json::object(), "does not list job.pbtxt");
  with("/files", 7, "lists no files");
  with("/version", 4294967297, "E0664");
  with("/version", -5, "no model's");
  with("/version", 0, "no model's");
  with("/version", "1", "no model's");
  with("/format", 3, "no model's");
  with("/files/job.pbtxt", 3, "no size and hash");
  with("/files/job.pbtxt/sha256", 3, "no size and hash");
  with("/files/job.pbtxt/bytes", 3, "job.pbtxt is not what was written");
  with("/files/..~1job.pbtxt", {{"bytes", 1}, {"sha256", ""}}, "without a plain name");
  for (const std::string name : {"graphs/tagger.pbtxt", "vocabularies/tags.txt", "data.json"}) {
    auto manifest = nlohmann::json::parse(written);
    ASSERT_EQ(manifest["files"].erase(name), 1u);
    write("model/manifest.json", manifest.dump(1));
    refused("does not list " + name);
  }
  write("model/manifest.json", written);
  write("model/graphs/cells/other.pbtxt", "");
  refused("does not list graphs/cells/other.pbtxt");
  std::filesystem::remove(path("model/graphs/cells/other.pbtxt"));
  ASSERT_EQ(graphrun({"infer", "model"}, "我\n").code, 0);
  // The same content in another file.
  std::filesystem::rename(path("model/job.pbtxt"), path("elsewhere"));
  std::filesystem::create_symlink(path("elsewhere"), path("model/job.pbtxt"));
  refused("'job.pbtxt' is a link");
  std::filesystem::rename(path("elsewhere"), path("model/job.pbtxt"));
  std::filesystem::rename(path("model/graphs"), path("elsewhere"));
  std::filesystem::create_directory_symlink(path("elsewhere"), path("model/graphs"));
  refused("'graphs' is a link");
}

TEST_F(TrainSegmenter, ALineThatIsNoTextComesOutEmpty) {
  ASSERT_EQ(graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1"}).code, 0);
  const std::string lines = "我\n\xFF\n" + std::string(1200000, 'x') + "\n你\n";
  const Ran ran = graphrun({"infer", "model"}, lines);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "我\n\n\n你\n");
  EXPECT_THAT(ran.err, HasSubstr("stdin:2:1: warning[E0641 not-utf8]"));
  EXPECT_THAT(ran.err, HasSubstr("stdin:3:1: warning[E0642 line-too-long]"));
  EXPECT_THAT(ran.err, HasSubstr("2 lines were not text and produced empty output"));
  const Ran stopped = graphrun({"infer", "model", "--bad-lines", "stop"}, lines);
  EXPECT_EQ(stopped.code, 4);
  EXPECT_EQ(stopped.out, "我\n");
  EXPECT_THAT(stopped.err, HasSubstr("stdin:2:1: error[E0641 not-utf8]"));
  EXPECT_EQ(graphrun({"infer", "model", "--bad-lines", "skip"}).code, 2);
}

class TrainLanguageModel : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_language_model();
  }
  std::vector<std::string> train(const std::string& out) const {
    return {"train", "graphs/jobs/words.pbtxt", "--out", out, "--threads", "1", "--set", "train.checkpoint.every_steps=7"};
  }
};

TEST_F(TrainLanguageModel, LearnsAndScores) {
  const Ran trained = graphrun(train("model"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::vector<double> loss = losses(read("model/metrics.jsonl"));
  ASSERT_EQ(loss.size(), 4u);
  EXPECT_LT(loss.back(), 0.8 * loss.front());
  const Ran scored = graphrun({"infer", "model"}, "the cat sat\na dog\n");
  ASSERT_EQ(scored.code, 0) << scored.err;
  EXPECT_EQ(std::count(scored.out.begin(), scored.out.end(), '\n'), 2);
  const Ran each = graphrun({"evaluate", "model", "--each", "each.jsonl"});
  EXPECT_EQ(each.code, 2);
  EXPECT_THAT(each.err, HasSubstr("a stream, which has no examples"));
  EXPECT_FALSE(exists("each.jsonl"));
  EXPECT_THAT(graphrun({"evaluate", "model", "--each", "-"}).err, HasSubstr("--each takes a file"));
}

TEST_F(TrainLanguageModel, TellsWhereTheTimeWent) {
  const Ran trained = graphrun({"train", "graphs/jobs/words.pbtxt", "--out", "model", "--profile", "trace.json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("where the time of the training steps went"));
  EXPECT_THAT(trained.err, HasSubstr("  scan  "));
  const auto trace = nlohmann::json::parse(read("trace.json"));
  EXPECT_GT(trace["traceEvents"].size(), 10u);
  // A file that cannot be written is reported before training.
  const Ran nowhere = graphrun({"train", "graphs/jobs/words.pbtxt", "--out", "other", "--profile", "no/such/trace.json"});
  EXPECT_NE(nowhere.code, 0);
  EXPECT_THAT(nowhere.err, HasSubstr("no/such"));
  EXPECT_FALSE(exists("other"));  // the same command with another file is therefore not a second run
  EXPECT_EQ(nowhere.err.find("step "), std::string::npos) << nowhere.err;
  EXPECT_THAT(graphrun({"train", "graphs/jobs/words.pbtxt", "--out", "x", "--profile", "t", "--seeds", "1,2"}).err,
              HasSubstr("--profile and --seeds do not go together"));
}

// A run that is killed or stopped at any instant, also within windows and validations, and resumed ends like an undisturbed
// run.
// The parts of a window have the gradient of the window, and states of their own.
TEST_F(TrainLanguageModel, PartsOfAWindowAreTheWindow) {
  const auto losses = [&](const std::string& parts, const std::string& rate) {
    const std::string out = "parts" + parts + "_" + rate;
    const Ran ran = graphrun({"train", "graphs/jobs/words.pbtxt", "--out", out, "--set", "dropout=0", "--set", "train.epochs=2",
                              "--set", "train.minimize=sum(nll)", "--set", "train.per=batch", "--set",
                              "train.optimizer.sgd.learning_rate=" + rate, "--set", "data.batch.parts=" + parts});
    std::vector<double> losses;
    for (const auto& line : json_lines(read(out + "/metrics.jsonl"))) {
      if (line.contains("loss")) losses.push_back(line["loss"].get<double>());
    }
    return std::pair(ran, losses);
  };
  const auto whole = losses("1", "0.2"), parts = losses("2", "0.2");
  ASSERT_EQ(whole.first.code, 0) << whole.first.err;
  ASSERT_EQ(parts.first.code, 0) << parts.first.err;
  ASSERT_EQ(whole.second.size(), parts.second.size());
  for (std::size_t i = 0; i < whole.second.size(); ++i) {
    EXPECT_NEAR(whole.second[i], parts.second[i], 1e-3 * whole.second[i]) << i;
  }
  const auto diverged = losses("2", "1e30");
  EXPECT_EQ(diverged.first.code, 6);
  EXPECT_THAT(diverged.first.err, HasSubstr("the first that is not finite is "));
}

TEST_F(TrainLanguageModel, AResumedRunIsTheSameBitForBit) {
  const auto longer = [&](const std::string& out) {
    std::vector<std::string> words = train(out);
    words.insert(words.end(), {"--set", "train.epochs=10", "--set", "train.checkpoint.every_steps=11"});
    return words;
  };
  ASSERT_EQ(graphrun(longer("whole")).code, 0);
  finish_with_stops(longer("parts"), "parts",
                    {"term:/checkpoints/:30", "kill:/checkpoints/:50+2000", "term:/checkpoints/:40+9000",
                     "kill:/checkpoints/:70", "term:/checkpoints/:90+700"});
  EXPECT_EQ(read("parts/metrics.jsonl"), read("whole/metrics.jsonl"));
  EXPECT_EQ(read_below("parts/best", "parameters.safetensors"), read_below("whole/best", "parameters.safetensors"));
}

}  // namespace
}  // namespace graphrun
