// Jobs that load trained models: ensembles, and one model in another job.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kEnsembleData = R"x(
data {
  FILES
  format: PARALLEL
  field { name: "left"  column: 0 split: SPACE }
  field { name: "right" column: 1 split: SPACE }
  feed: "source = [left, '</s>'], source_lengths = length([left, '</s>'])"
  feed: "previous = ['<s>', right], target = [right, '</s>'], target_lengths = length([right, '</s>'])"
  batch { rows: 8 bucket_by: "left" }
}
report: "perplexity = exp(sum(nll) / sum(target_lengths)), bleu = bleu(right, say, tokenize='none')"
)x";

constexpr const char* kTrain = R"x(
graph: "translator.pbtxt"
arg: "embed = 6, hidden = 8, source_vocabulary = vocabulary(left), target_vocabulary = vocabulary(right)"
train {
  minimize: "loss"  initialize { match: "*" uniform: 0.3 }
  optimizer { adam { learning_rate: 0.02 } }  clip { global_norm: 5 }
  epochs: 3
}
infer { name: "say" write: TEXT field: "right"
        generate { scan: "decode" feed: "y" score: "logits" begin: "<s>" end: "</s>" beam: 3 max_length: "source_time + 2" } }
)x";

constexpr const char* kEnsemble = R"x(
graph: "ensemble.pbtxt"
arg: "models = 2, model.embed = 6, model.hidden = 8"
arg: "source_vocabulary = vocabulary(left), target_vocabulary = vocabulary(right)"
infer { name: "say" write: TEXT field: "right"
        load: "members.0 = ../../runs/seed-1, members.1 = ../../runs/seed-2"
        generate { scan: "members.decode" feed: "y" score: "score" begin: "<s>" end: "</s>" beam: 3 max_length: "source_time + 2" } }
)x";

class Ensemble : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_word_pairs(40, 1, 4);
    write("graphs/jobs/say.pbtxt", data(R"(train: ["../../data/left", "../../data/right"])") + kTrain);
    write("graphs/jobs/both.pbtxt", data(R"(test: ["../../data/left", "../../data/right"])") + kEnsemble);
    const Ran trained = graphrun({"train", "graphs/jobs/say.pbtxt", "--seeds", "1,2", "--out", "runs", "--quiet"});
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  static std::string data(const std::string& files) {
    std::string text = kEnsembleData;
    return text.replace(text.find("FILES"), 5, files);
  }
  double perplexity(const std::string& model, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"evaluate", model, "--json", "--data", "data/left", "data/right"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = graphrun(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? nlohmann::json::parse(ran.out)["perplexity"].get<double>() : 0;
  }
  // The job with one text replaced by another.
  Ran with(const std::string& from, const std::string& to, const std::string& command = "infer") {
    std::string text = read("graphs/jobs/both.pbtxt");
    EXPECT_NE(text.find(from), std::string::npos) << from;
    write("graphs/jobs/other.pbtxt", text.replace(text.find(from), from.size(), to));
    return graphrun({command, "graphs/jobs/other.pbtxt"}, "uno\n");
  }
};

TEST_F(Ensemble, TakesTheMeanOfItsModels) {
  const std::string one = "runs/seed-1", two = "runs/seed-2", both = "graphs/jobs/both.pbtxt";
  const double a = perplexity(one), b = perplexity(two);
  EXPECT_NE(a, b);
  // A mean of probabilities is at least their geometric mean, whose logarithm is the mean of the logarithms.
  EXPECT_LT(perplexity(both), std::sqrt(a * b));
  // An ensemble of one model twice is that model, however it is specified.
  EXPECT_NEAR(perplexity(both, {"--set", "infer.say.load=members.0 = runs/seed-1, members.1 = runs/seed-1"}), a, 1e-4 * a);
  const std::string input = "uno\n\ntres uno dos\nnada\n";
  const Ran said = graphrun({"infer", both, "--set", "infer.say.load=members.0 = runs/seed-2, members.1 = runs/seed-2"}, input);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, graphrun({"infer", two}, input).out);
  const Ran json = graphrun({"infer", both, "--json", "--n-best", "2"}, "uno dos\n");
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["alternatives"].size(), 2u) << json.out;
  const Ran checked = graphrun({"check", both});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.out, AllOf(HasSubstr("graph: ensemble.pbtxt"), HasSubstr("members.1.")));
}

TEST_F(Ensemble, OneModelRunsInAnotherJob) {
  std::string text = data(R"(test: ["../../data/left", "../../data/right"])") + kTrain;
  const std::size_t begin = text.find("train {"), end = text.find("infer {");
  text.replace(begin, end - begin, "");
  text.replace(text.find("infer { name: \"say\""), 19, "infer { name: \"say\" load: \"../../runs/seed-1\"");
  write("graphs/jobs/alone.pbtxt", text);
  EXPECT_EQ(perplexity("graphs/jobs/alone.pbtxt"), perplexity("runs/seed-1"));
}

// A model with more parameters than the graph belongs to another graph, even if none is missing.
TEST_F(Ensemble, RefusesAModelOfAnotherGraph) {
  ASSERT_EQ(graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "gated", "--quiet", "--set", "train.epochs=1", "--set",
                      "cell=cells/gru.pbtxt"})
                .code,
            0);
  const Ran ran = with("members.1 = ../../runs/seed-2", "members.1 = ../../gated");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("E0668"), HasSubstr("does not belong to the job's graph"),
                             HasSubstr("the graph has no 'members.1.decode.read.first.Uz'")));
}

TEST_F(Ensemble, MistakesAreToldAtTheirPlaces) {
  EXPECT_THAT(with("members.1 = ../../runs/seed-2", "members.1 = ../../runs/seed-3").err,
              AllOf(HasSubstr("E0663"), HasSubstr("runs/seed-3")));
  EXPECT_THAT(with("members.1 =", "members.0 =").err,
              AllOf(HasSubstr("other.pbtxt:"), HasSubstr("a second model for 'members.0'")));
  EXPECT_THAT(
      with("members.1 =", "member.1 =").err,
      AllOf(HasSubstr("other.pbtxt:"), HasSubstr("does not belong to the job's graph"), HasSubstr("begins with 'member.1.'")));
  EXPECT_THAT(with("models = 2", "models = 3").err,
              AllOf(HasSubstr("other.pbtxt:"), HasSubstr("no model is loaded for 'members.2.")));
  EXPECT_THAT(with("models = 2", "models = 1").err, HasSubstr("no parameter of the graph begins with 'members.1.'"));
  EXPECT_THAT(with("model.hidden = 8", "model.hidden = 9").err, HasSubstr("the graph has"));
  EXPECT_THAT(with("members.1 = ../../runs/seed-2", "members.1 =").err, HasSubstr("a model without its folder"));
  EXPECT_THAT(with("name: \"left\"  column: 0", "name: \"lift\"  column: 0").err, HasSubstr("no field 'left'"));
  EXPECT_THAT(with("infer {", "train { minimize: \"nll\" epochs: 1 }\ninfer {").err, HasSubstr("a job that trains"));
  EXPECT_THAT(with("infer {", "infer { name: \"more\" load: \"../../runs/seed-1\" from: \"nll\" write: NUMBERS }\ninfer {").err,
              HasSubstr("loads other models"));
  EXPECT_THAT(with("column: 0 split: SPACE", "column: 0 split: BPE").err,
              AllOf(HasSubstr("E0668"), HasSubstr("subwords here, but not by the model")));
  EXPECT_THAT(with("data {", "data {", "train").err, HasSubstr("--out"));
  EXPECT_THAT(graphrun({"train", "graphs/jobs/both.pbtxt", "--out", "x"}).err, HasSubstr("train"));

  EXPECT_THAT(graphrun({"infer", "graphs/jobs/say.pbtxt"}).err, HasSubstr("is not a model and loads none"));
  EXPECT_THAT(graphrun({"infer", "runs/seed-1", "--set", "models=3"}).err,
              HasSubstr("of a trained model infer, report and product_precision can be set"));

  // Another vocabulary: the same words in another order.
  write("words", "three\n<s>\n</s>\n<unk>\ntwo\none\n");
  const Ran trained = graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "third", "--quiet", "--set", "train.epochs=1",
                                "--set", "data.field.right.vocabulary.file=words"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(with("members.1 = ../../runs/seed-2", "members.1 = ../../third").err,
              AllOf(HasSubstr("E0668"), HasSubstr("different vocabularies of field 'right'"), HasSubstr("entry ")));
}

}  // namespace
}  // namespace graphrun
