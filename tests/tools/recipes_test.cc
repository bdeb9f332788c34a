// The settings of a job's `train`, run by the program.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/tensor/safetensors.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Recipes : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
  }
  std::vector<std::string> words(const std::string& out, const std::vector<std::string>& sets) const {
    std::vector<std::string> all = {"train", "graphs/jobs/segment.pbtxt", "--out", out, "--threads", "1"};
    for (const std::string& set : sets) all.insert(all.end(), {"--set", set});
    return all;
  }
  Ran train(const std::string& out, const std::vector<std::string>& sets) const { return graphrun(words(out, sets)); }
  // The segmenter's job with `text` appended to its `train`.
  void write_job(const std::string& name, const std::string& text) {
    std::string job = read("graphs/jobs/segment.pbtxt");
    const std::string end = "epochs: 8\n";
    job.replace(job.find(end), end.size(), end + text + "\n");
    write("graphs/jobs/" + name, job);
  }
  std::vector<nlohmann::json> metrics(const std::string& out) const {
    std::vector<nlohmann::json> lines;
    std::istringstream in(read(out + "/metrics.jsonl"));
    for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  int validations(const std::string& out) const {
    const auto lines = metrics(out);
    return static_cast<int>(std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.contains("valid"); }));
  }
  // The tensors of the newest folder of a kind.
  NamedTensors tensors(const std::string& out, const std::string& kind, const std::string& group) const {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(root_ / out / kind)) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    return read_safetensors((folders.back() / (group + ".safetensors")).string());
  }
};

TEST_F(Recipes, EveryOptimizerLearnsAndKeepsItsSlots) {
  const std::pair<const char*, std::vector<std::string>> optimizers[] = {
      {"momentum.learning_rate=0.2", {"momentum_v"}},
      {"adagrad.learning_rate=0.1", {"adagrad_s"}},
      {"adadelta.learning_rate=1", {"adadelta_s", "adadelta_d"}},
      {"rmsprop.learning_rate=0.01", {"rmsprop_s"}},
      {"adam.learning_rate=0.02", {"adam_m", "adam_v"}},
      {"lion.learning_rate=0.005", {"lion_m"}},
      {"adafactor.learning_rate=0.1", {"adafactor_s", "adafactor_c"}}};
  for (const auto& [optimizer, slots] : optimizers) {
    const std::string out = std::string(optimizer).substr(0, 6);
    const Ran ran = train(out, {"train.epochs=4", "train.optimizer." + std::string(optimizer), "train.optimizer.l2=1e-5",
                                "train.optimizer.weight_decay=1e-4", "train.optimizer.no_decay=*b"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto lines = metrics(out);
    EXPECT_LT(lines[3]["loss"].get<double>(), 0.9 * lines[0]["loss"].get<double>()) << optimizer;
    for (const std::string& slot : slots) EXPECT_EQ(tensors(out, "checkpoints", "slots").count("W." + slot), 1u) << slot;
  }
}

TEST_F(Recipes, SummedLossesDividedByRowsAreMeanOnes) {
  ASSERT_EQ(train("mean", {"train.epochs=2", "dropout=0"}).code, 0);
  ASSERT_EQ(train("sum", {"train.epochs=2", "dropout=0", "train.minimize=sum(margin)", "train.per=batch"}).code, 0);
  const auto mean = metrics("mean"), sum = metrics("sum");
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(mean[i]["loss"].get<double>(), sum[i]["loss"].get<double>(), 1e-4);
}

// Five batches of eight rows equal one of forty; two at a time make three updates, the last one of a single batch.
TEST_F(Recipes, AccumulatedBatchesAreLargeOnes) {
  const std::vector<std::string> all = {"train.epochs=3", "dropout=0", "train.minimize=sum(margin)", "train.per=batch"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> sets = all;
    sets.insert(sets.end(), more.begin(), more.end());
    return sets;
  };
  ASSERT_EQ(train("small", with({"train.accumulate=5"})).code, 0);
  ASSERT_EQ(train("large", with({"data.batch.rows=40"})).code, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(metrics("small")[i]["step"], metrics("large")[i]["step"]);
    EXPECT_NEAR(metrics("small")[i]["loss"].get<double>(), metrics("large")[i]["loss"].get<double>(), 1e-4);
  }
  ASSERT_EQ(train("uneven", with({"train.accumulate=2"})).code, 0);
  EXPECT_EQ(metrics("uneven")[0]["step"], 3);
  const Ran unsaid = train("none", {"train.accumulate=2"});
  EXPECT_EQ(unsaid.code, 3);
  EXPECT_THAT(unsaid.err, AllOf(HasSubstr("by what is the sum divided?"), HasSubstr("per: ")));
}

TEST_F(Recipes, ValidatesSeveralTimesAnEpochOrBySteps) {
  ASSERT_EQ(train("times", {"train.epochs=2", "train.validate.every_epochs=0", "train.validate.times_per_epoch=3"}).code, 0);
  EXPECT_EQ(validations("times"), 6);
  // Ten updates: after 4 and 8, and at the end.
  ASSERT_EQ(train("steps", {"train.epochs=2", "train.validate.every_epochs=0", "train.validate.every_steps=4"}).code, 0);
  EXPECT_EQ(validations("steps"), 3);
  EXPECT_EQ(train("both", {"train.validate.every_steps=4"}).code, 3);
}

TEST_F(Recipes, StopsEarlyWhateverTheSchedule) {
  const Ran ran = train("stopped", {"train.epochs=50", "train.stop.patience=3", "train.stop.margin=2"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(validations("stopped"), 4);
  EXPECT_THAT(ran.err, HasSubstr("the training ends at step 20"));
  std::vector<std::string> again = words("stopped", {"train.epochs=50", "train.stop.patience=3", "train.stop.margin=2"});
  again.push_back("--resume");
  EXPECT_THAT(graphrun(again).err, HasSubstr("is finished"));
}

// All state that outlives a step is in the checkpoint: a run killed or stopped at any instant continues undisturbed.
TEST_F(Recipes, AResumedRunOfEverythingIsTheSameBitForBit) {
  write_job("all.pbtxt",
            "optimizer { momentum { learning_rate: 0.2 momentum: 0.8 nesterov: true } l2: 1e-5 }\n"
            "per: \"batch\" accumulate: 2 moving_average { decay: 0.9 }\n"
            "schedule { no_improvement { factor: 0.7 patience: 2 margin: 0.01 margin_of_rate: 0.02 restart: true } "
            "warmup_steps: 5 }\n"
            "validate { every_epochs: 0 times_per_epoch: 3 } average { best: 3 } stop { patience: 60 }\n"
            "checkpoint { every_steps: 2 }");
  const auto command = [](const std::string& out) {
    return std::vector<std::string>{
        "train", "graphs/jobs/all.pbtxt",     "--out", out, "--threads", "1", "--set", "train.epochs=12",
        "--set", "train.minimize=sum(margin)"};
  };
  std::string job = read("graphs/jobs/all.pbtxt");  // the parts to be replaced occur once
  for (const std::string old : {"  optimizer { adam { learning_rate: 0.02 } } clip { global_norm: 1 }\n",
                                "  schedule { per_epoch { factor: 0.9 from: 3 } }\n"}) {
    job.replace(job.find(old), old.size(), "");
  }
  const std::string validate = "validate { every_epochs: 1 keep_highest: \"f1\" }",
                    more = "validate { every_epochs: 0 times_per_epoch: 3 }";
  job.replace(job.find(validate), validate.size(), "validate { times_per_epoch: 3 keep_highest: \"f1\" }");
  job.replace(job.find(more), more.size(), "");
  write("graphs/jobs/all.pbtxt", job);
  const Ran whole = graphrun(command("whole"));
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("from the best parameters on"));
  finish_with_stops(
      command("parts"), "parts",
      {"term:/checkpoints/:30", "kill:/checkpoints/:50+2000", "term:/checkpoints/:40+9000", "kill:/checkpoints/:70"});
  EXPECT_EQ(read("parts/metrics.jsonl"), read("whole/metrics.jsonl"));
  EXPECT_EQ(read_below("parts/best", "parameters.safetensors"), read_below("whole/best", "parameters.safetensors"));
  const NamedTensors slots = tensors("parts", "checkpoints", "slots"), others = tensors("whole", "checkpoints", "slots");
  for (const auto& [name, tensor] : others) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) ASSERT_EQ(slots.at(name).at(i), tensor.at(i)) << name;
  }
}

// Slots of any shape are in the checkpoints.
TEST_F(Recipes, LionAndAdafactorResumeBitForBit) {
  const std::string job = read("graphs/jobs/segment.pbtxt"), adam = "adam { learning_rate: 0.02 }";
  for (const auto& [out, optimizer] : {std::pair("lion", "lion { learning_rate: 0.005 beta1: 0.8 } weight_decay: 0.1"),
                                       {"factors", "adafactor { learning_rate: 0.1 }"},
                                       {"momentum", "adafactor { learning_rate: 0.1 beta1: 0.9 }"}}) {
    std::string changed = job;
    changed.replace(changed.find(adam), adam.size(), optimizer);
    write("graphs/jobs/changed.pbtxt", changed);
    const std::string whole = std::string(out) + "_whole";
    const auto command = [](const std::string& folder) {
      return std::vector<std::string>{
          "train", "graphs/jobs/changed.pbtxt",     "--out", folder, "--threads", "1", "--set", "train.epochs=4",
          "--set", "train.checkpoint.every_steps=2"};
    };
    ASSERT_EQ(graphrun(command(whole)).code, 0);
    finish_with_stops(command(out), out, {"kill:/checkpoints/:20", "term:/checkpoints/:30"});
    EXPECT_EQ(read(std::string(out) + "/metrics.jsonl"), read(whole + "/metrics.jsonl"));
    const NamedTensors slots = tensors(out, "checkpoints", "slots"), others = tensors(whole, "checkpoints", "slots");
    ASSERT_FALSE(others.empty());
    for (const auto& [name, tensor] : others) {
      ASSERT_EQ(slots.at(name).sizes(), tensor.sizes()) << name;
      for (std::int64_t i = 0; i < tensor.count(); ++i) ASSERT_EQ(slots.at(name).at(i), tensor.at(i)) << name;
    }
  }
}

// The model of a moving average differs from the trained parameters.
TEST_F(Recipes, TheModelHasTheMovingAverages) {
  ASSERT_EQ(train("model", {"train.epochs=1", "train.moving_average.decay=0.9"}).code, 0);
  const NamedTensors kept = tensors("model", "best", "parameters"), slots = tensors("model", "checkpoints", "slots"),
                     trained = tensors("model", "checkpoints", "parameters");
  for (const auto& [name, tensor] : kept) {
    double apart = 0;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      ASSERT_EQ(tensor.at(i), slots.at(name + ".average").at(i));
      apart += std::abs(tensor.at(i) - trained.at(name).at(i));
    }
    EXPECT_GT(apart, 0) << name;
  }
}

TEST_F(Recipes, TheModelMayBeTheMeanOfTheLast) {
  ASSERT_EQ(train("model", {"train.epochs=4", "train.average.last=2"}).code, 0);
  const NamedTensors kept = tensors("model", "best", "parameters");
  NamedTensors sum;
  int folders = 0;
  for (const auto& entry : fs::directory_iterator(root_ / "model/candidates")) {
    ++folders;
    for (const auto& [name, tensor] : read_safetensors((entry.path() / "parameters.safetensors").string())) {
      if (sum.count(name) == 0) sum[name] = Tensor(DType::kFloat64, tensor.sizes());
      for (std::int64_t i = 0; i < tensor.count(); ++i) sum[name].data<double>()[i] += tensor.at(i) / 2;
    }
  }
  ASSERT_EQ(folders, 2);
  for (const auto& [name, tensor] : kept) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) ASSERT_NEAR(tensor.at(i), sum[name].at(i), 1e-7) << name;
  }
}

// JSON has no infinities: in metrics, in the state from which a run resumes, and in files next to models.
TEST_F(Recipes, InfiniteReportsAreKeptAsSuch) {
  std::vector<std::string> sets = {"report=f1 = log(0 * sum(margin))", "train.validate.keep_highest=f1", "train.average.best=2",
                                   "train.epochs=2"};
  const Ran ran = train("infinite", sets);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(read("infinite/metrics.jsonl"), HasSubstr("\"valid\":{\"f1\":\"-inf\"}"));
  EXPECT_THAT(ran.out + ran.err, ::testing::ContainsRegex("valid +-inf"));
  sets.back() = "train.epochs=3";
  std::vector<std::string> more = words("infinite", sets);
  more.push_back("--resume");
  EXPECT_EQ(graphrun(more).code, 0);
}

// A validation without a number is no candidate for the mean, so that there may be no mean.
TEST_F(Recipes, ARunWithoutAMeanNamesTheModelThatItKeeps) {
  const std::vector<std::string> sets = {"report=f1 = log(0 - count(rows))", "train.validate.keep_highest=f1",
                                         "train.average.best=2", "train.epochs=2"};
  const Ran ran = train("kept", sets);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the model in 'kept' is that of epoch 1, the best by f1"));
  std::vector<std::string> again = words("kept", sets);
  again.push_back("--resume");
  EXPECT_THAT(graphrun(again).err, HasSubstr("the model is that of epoch 1, the best by f1"));
  const std::vector<std::string> finite = {"train.average.best=2", "train.epochs=2"};
  EXPECT_THAT(train("mean", finite).err, HasSubstr("the model in 'mean' is the average of the parameters"));
  again = words("mean", finite);
  again.push_back("--resume");
  EXPECT_THAT(graphrun(again).err, HasSubstr("the model is the average of the parameters"));
}

TEST_F(Recipes, AverageMakesAModelOfSeveral) {
  ASSERT_EQ(train("one", {"train.epochs=2"}).code, 0);
  ASSERT_EQ(train("two", {"train.epochs=3"}).code, 0);
  const Ran ran = graphrun({"average", "one", "two", "--out", "mean"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const NamedTensors one = tensors("one", "best", "parameters"), two = tensors("two", "best", "parameters"),
                     mean = tensors("mean", "best", "parameters");
  EXPECT_NEAR(mean.at("W").at(0), (one.at("W").at(0) + two.at("W").at(0)) / 2, 1e-7);
  EXPECT_EQ(graphrun({"evaluate", "mean"}).code, 0);
  const Ran again = graphrun({"average", "one", "two", "--out", "mean"});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("'mean' already contains a run"), Not(HasSubstr("--resume"))));
  ASSERT_EQ(train("wide", {"train.epochs=1", "hidden=8"}).code, 0);
  const Ran unlike = graphrun({"average", "one", "wide", "--out", "other"});
  EXPECT_EQ(unlike.code, 4);
  EXPECT_THAT(unlike.err, AllOf(HasSubstr("E0668"), HasSubstr("note: W is [16, 4]")));
  ASSERT_EQ(train("bent", {"train.epochs=1", "cell=cells/atr.pbtxt(tanh_state=true)"}).code, 0);
  EXPECT_THAT(graphrun({"average", "one", "bent", "--out", "other"}).err,
              HasSubstr("'bent' cannot be averaged with 'one': its graph differs"));
  // Another declaration of an initial value does not make another graph.
  std::string declared = read("graphs/tagger.pbtxt");
  const std::string bias = "\"b\" shape: \"[labels]\"";
  declared.insert(declared.find(bias) + bias.size(), " init { constant: 0 }");
  write("graphs/tagger.pbtxt", declared);
  ASSERT_EQ(train("declared", {"train.epochs=1"}).code, 0);
  EXPECT_THAT(read("declared/graph.txt"), HasSubstr("constant(0.0) declared"));
  const Ran alike = graphrun({"average", "one", "declared", "--out", "other"});
  EXPECT_EQ(alike.code, 0) << alike.err;
}

TEST_F(Recipes, WordVectorsBeginRowsAndMayBeFrozen) {
  std::string vectors = "9 16\n";  // the first line of word2vec's format
  for (const std::string word : {"我", "天", "x y", "你"}) {
    vectors += word;
    for (int k = 0; k < 16; ++k) vectors += word == "天" ? " 0.25" : " -1.5e-1";
    vectors += "\n";
  }
  write("vectors.txt", vectors);
  write_job("vectors.pbtxt", "freeze: \"E\"");
  const std::vector<std::string> command = {"train", "graphs/jobs/vectors.pbtxt",
                                            "--out", "model",
                                            "--set", "train.epochs=1",
                                            "--set", "train.initialize.0.match=E",
                                            "--set", "train.initialize.0.vectors=vectors.txt",
                                            "--set", "train.initialize.0.field=characters"};
  const Ran ran = graphrun(command);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("3 of 12 entries of 'characters' (25.0 %)"));
  EXPECT_EQ(metrics("model")[0]["vectors"]["found"], 3);
  std::istringstream entries(read("model/vocabularies/characters.txt"));
  const Tensor rows = tensors("model", "best", "parameters").at("E");
  std::int64_t row = 0;
  for (std::string entry; std::getline(entries, entry); ++row) {
    const double expected = entry == "天" ? 0.25 : entry == "我" || entry == "你" ? -0.15 : 7;
    for (std::int64_t k = 0; expected < 7 && k < 16; ++k) ASSERT_NEAR(rows.at(row * 16 + k), expected, 1e-7) << entry;
  }
  write("vectors.txt", "我 1 2\n");
  fs::remove_all(root_ / "model");
  const Ran narrow = graphrun(command);
  EXPECT_EQ(narrow.code, 4);
  EXPECT_THAT(narrow.err, AllOf(HasSubstr("vectors.txt:1"), HasSubstr("E0656"), HasSubstr("2 numbers after the word")));
  EXPECT_FALSE(exists("model"));
}

TEST_F(Recipes, StartsFromAnotherModelStrictlyUnlessToldOtherwise) {
  ASSERT_EQ(train("old", {"train.epochs=2"}).code, 0);
  write_job("start.pbtxt", "start { model: \"../../old\" }");
  const auto start = [&](const std::string& out, const std::vector<std::string>& sets) {
    std::vector<std::string> all = {"train", "graphs/jobs/start.pbtxt", "--out", out, "--set", "train.epochs=1"};
    for (const std::string& set : sets) all.insert(all.end(), {"--set", set});
    return graphrun(all);
  };
  const Ran same = start("same", {"train.freeze=*"});
  EXPECT_EQ(same.code, 3);  // no parameter is left to train
  EXPECT_THAT(same.err, HasSubstr("depends on no trainable parameter"));
  const Ran frozen = start("frozen", {"train.freeze=E"});
  ASSERT_EQ(frozen.code, 0) << frozen.err;
  EXPECT_THAT(frozen.err, AllOf(HasSubstr("loaded E, "), HasSubstr("missing there: nothing; surplus there: nothing")));
  const Tensor before = tensors("old", "best", "parameters").at("E"), after = tensors("frozen", "best", "parameters").at("E");
  for (std::int64_t i = 0; i < before.count(); ++i) ASSERT_EQ(after.at(i), before.at(i));

  const Ran other = start("other", {"cell=cells/gru.pbtxt"});
  EXPECT_EQ(other.code, 4);
  EXPECT_THAT(other.err, AllOf(HasSubstr("E0669"), HasSubstr("missing there: read."), HasSubstr("partial: true")));
  EXPECT_FALSE(exists("other"));
  const Ran partial = start("partial", {"cell=cells/gru.pbtxt", "train.start.0.partial=true"});
  ASSERT_EQ(partial.code, 0) << partial.err;
  EXPECT_THAT(partial.err, AllOf(HasSubstr("missing there: read."), HasSubstr("surplus there: nothing")));
  const Ran wide = start("wide", {"hidden=8", "train.start.0.partial=true"});
  EXPECT_EQ(wide.code, 4);
  EXPECT_THAT(wide.err, HasSubstr("note: W is [32, 4] there, [16, 4] here"));
  const Ran some = start("some", {"cell=cells/gru.pbtxt", "train.start.0.match=E,W,crf.*"});
  ASSERT_EQ(some.code, 0) << some.err;
  EXPECT_THAT(some.err, HasSubstr("loaded E, W, crf.T; missing there: nothing; surplus there: nothing\n"));
}

TEST_F(Recipes, DumpJobPrintsWhatHolds) {
  std::vector<std::string> command = words("none", {"train.epochs=3", "cell=cells/gru.pbtxt"});
  command.push_back("--dump-job");
  const Ran ran = graphrun(command);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(exists("none"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("epochs: 3"), HasSubstr("cell = cells/gru.pbtxt"), HasSubstr("beta2: 0.999"),
                             HasSubstr("learning_rate: 0.02")));
  write("graphs/jobs/dumped.pbtxt", ran.out);
  EXPECT_EQ(graphrun({"check", "graphs/jobs/dumped.pbtxt"}).code, 0);
}

TEST_F(Recipes, WrongRecipesAreRefusedAtOnce) {
  const Ran ran = train("wrong", {"train.optimizer.momentum.momentum=1", "train.optimizer.l2=-1",
                                  "train.schedule.cosine.steps=0", "train.moving_average.decay=1", "train.stop.patience=0",
                                  "train.average.best=1", "train.per=sum(", "train.accumulate=-1"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("momentum is 1"), HasSubstr("l2 is -1"), HasSubstr("momentum has no learning_rate"),
                             HasSubstr("the cosine ends at update 0"), HasSubstr("decay is 1"), HasSubstr("patience is 0"),
                             HasSubstr("an average of 1"), HasSubstr("accumulate")));
  const Ran ranges = train("wrong", {"train.optimizer.adafactor.clip=0", "train.optimizer.adafactor.learning_rate=0.01"});
  EXPECT_EQ(ranges.code, 3);
  EXPECT_THAT(ranges.err, HasSubstr("clip is 0; expected a finite number above 0"));
  const Ran alone = train("wrong", {"train.optimizer.lion.beta1=0.95"});
  EXPECT_EQ(alone.code, 3);
  EXPECT_THAT(alone.err,
              AllOf(HasSubstr("lion has no learning_rate"),
                    HasSubstr("or --set train.optimizer.lion.learning_rate=NUMBER together with its other settings")));
  const Ran zero = train("wrong", {"train.optimizer.lion.learning_rate=0"});
  EXPECT_THAT(zero.err, HasSubstr("learning_rate is 0; expected a finite number above 0"));
  const Ran settings = train("wrong", {"train.optimizer.lion.epsilon=1e-8"});
  EXPECT_EQ(settings.code, 3);
  EXPECT_THAT(settings.err, HasSubstr("its fields are learning_rate, beta1, beta2"));
  const Ran names = train("wrong", {"train.per=sum(lenghts)"});
  EXPECT_EQ(names.code, 3);
  EXPECT_THAT(names.err, AllOf(HasSubstr("'lenghts'"), HasSubstr("did you mean 'lengths'")));
  const Ran pattern = train("warned", {"train.epochs=1", "train.freeze=Q*"});
  EXPECT_EQ(pattern.code, 0);
  EXPECT_THAT(pattern.err, HasSubstr("no parameter matches freeze: \"Q*\""));
}

}  // namespace
}  // namespace graphrun
