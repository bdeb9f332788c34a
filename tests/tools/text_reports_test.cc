// Text that a job's modes generate during training: reports of it, samples in the log, subwords converted to text; and missing
// or damaged files of the model's folder.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A language whose words correspond one to one to those of another, both in subwords.
constexpr const char* kJob = R"job(
graph: "translator.pbtxt"
arg: "embed = 12, hidden = 16, source_vocabulary = vocabulary(left), target_vocabulary = vocabulary(right)"
data {
  train: ["../../data/left", "../../data/right"]
  valid: ["../../data/left", "../../data/right"]
  format: PARALLEL
  field { name: "left"  column: 0 split: BPE vocabulary { size: 40 character_coverage: 1 } }
  field { name: "right" column: 1 split: BPE vocabulary { share: "left" } }
  feed: "source = [left, '</s>'], source_lengths = length([left, '</s>'])"
  feed: "previous = ['<s>', right], target = [right, '</s>'], target_lengths = length([right, '</s>'])"
  batch { rows: 8 bucket_by: "left" }
}
train {
  minimize: "loss"  initialize { match: "*" uniform: 0.3 }
  optimizer { adam { learning_rate: 0.02 } }  clip { global_norm: 5 }
  validate { keep_highest: "score" samples: 2 }  epochs: 10
}
report: "perplexity = exp(sum(nll) / sum(target_lengths)), nll = sum(nll), words = sum(target_lengths), score = bleu(right, say, tokenize='none'), f = chrf(right, say), c = cer(right, say), w = wer(right, say), x = exact_match(right, say)"
infer { name: "say" write: TEXT field: "right"
        generate { scan: "decode" feed: "y" score: "logits" begin: "<s>" end: "</s>" max_length: "source_time + 6" } }
)job";

class TextReports : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_word_pairs(40, 4, 3);
    write("graphs/jobs/say.pbtxt", kJob);
  }
  Ran train(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"train", "graphs/jobs/say.pbtxt", "--out", "model", "--threads", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return graphrun(arguments);
  }
};

// Samples depend neither on the batch nor on the order of the data.
TEST_F(TextReports, OfSamplesAreThoseOfWhatInferDraws) {
  ASSERT_EQ(train({"--set", "train.epochs=2"}).code, 0);
  const auto drawing = [&](std::vector<std::string> words, const std::string& seed, const std::string& input = "") {
    words.insert(words.end(), {"--threads", "1", "--set", "infer.say.generate.sample.temperature=2", "--set",
                               "infer.say.generate.sample.seed=" + seed});
    const Ran ran = graphrun(words, input);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  const auto reported = [&](const std::string& seed, const std::string& folder) {
    const std::string out = drawing({"evaluate", "model", "--data", folder + "/left", folder + "/right", "--json"}, seed);
    return nlohmann::json::parse(out)["score"];
  };
  const nlohmann::json score = reported("1", "data");
  EXPECT_NE(reported("2", "data"), score);
  const auto reversed = [](const std::string& text) {
    std::istringstream lines(text);
    std::string turned;
    for (std::string line; std::getline(lines, line);) turned = line + "\n" + turned;
    return turned;
  };
  for (const std::string side : {"left", "right"}) write("reversed/" + side, reversed(read("data/" + side)));
  EXPECT_EQ(reported("1", "reversed"), score);
  write("output", drawing({"infer", "model", "--rows", "3"}, "1", read("data/left")));
  const Ran scored = graphrun({"score", "output", "data/right", "--tokenize", "none", "--metric", "bleu", "--json"});
  EXPECT_EQ(nlohmann::json::parse(scored.out)["bleu"]["score"], score);
}

TEST_F(TextReports, FollowTheTrainingAndAreThoseOfWhatIsWritten) {
  const Ran trained = train();
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, AllOf(HasSubstr("sample 1  left: "), HasSubstr("sample 1  say: "), HasSubstr("sample 2  right: "),
                                 testing::Not(HasSubstr("sample 3"))));
  // The folder is sufficient: data and job may be removed.
  std::filesystem::rename(root_ / "model", root_ / "moved");
  std::filesystem::remove_all(root_ / "graphs");
  const Ran said = graphrun({"infer", "moved", "--threads", "1"}, read("data/left"));
  ASSERT_EQ(said.code, 0) << said.err;
  write("output", said.out);
  const Ran evaluated = graphrun({"evaluate", "moved", "--data", "data/left", "data/right", "--json", "--threads", "1"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const auto reports = nlohmann::json::parse(evaluated.out);
  const Ran scored = graphrun({"score", "output", "data/right", "--tokenize", "none", "--metric", "bleu", "--metric", "chrf",
                               "--metric", "cer", "--metric", "wer", "--metric", "exact", "--json"});
  const auto scores = nlohmann::json::parse(scored.out);
  EXPECT_EQ(reports["score"], scores["bleu"]["score"]);
  EXPECT_EQ(reports["f"], scores["chrf"]["score"]);
  EXPECT_EQ(reports["c"], scores["cer"]["score"]);
  EXPECT_EQ(reports["w"], scores["wer"]["score"]);
  EXPECT_EQ(reports["x"], scores["exact"]["score"]);
  EXPECT_GT(reports["score"].get<double>(), 1);
  // Figures of each example, in the order of the files, independent of batches; they determine the figure of the whole set.
  const Ran each =
      graphrun({"evaluate", "moved", "--data", "data/left", "data/right", "--json", "--each", "each.jsonl", "--threads", "1"});
  ASSERT_EQ(each.code, 0) << each.err;
  const std::vector<nlohmann::json> alone = json_lines(read("each.jsonl"));
  std::istringstream right(read("data/right"));
  double nll = 0, words = 0;
  std::size_t i = 0;
  for (std::string line; std::getline(right, line); ++i) {
    ASSERT_LT(i, alone.size());
    EXPECT_EQ(alone[i]["example"], i + 1);
    EXPECT_FALSE(alone[i].contains("score"));
    nll += alone[i]["nll"].get<double>(), words += alone[i]["words"].get<double>();
  }
  EXPECT_EQ(i, alone.size());
  EXPECT_NEAR(std::exp(nll / words), reports["perplexity"].get<double>(), 1e-3 * reports["perplexity"].get<double>());
  EXPECT_THAT(graphrun({"evaluate", "moved", "--data", "data/left", "data/right", "--each", "no/folder"}).err,
              HasSubstr("no/folder"));

  const Ran details = graphrun({"evaluate", "moved", "--data", "data/left", "data/right", "--details"});
  EXPECT_THAT(details.out, HasSubstr("BLEU|refs:1|case:mixed|tok:none|smooth:exp"));
  // A report that the model was trained without, by groups of lines; the others are not computed.
  const auto with = [&](const std::string& report, const std::string& name) {
    return graphrun({"evaluate", "moved", "--data", "data/left", "data/right", "--details", "--json", "--threads", "1",
                     "--report", name, "--set", "report+=" + report});
  };
  const auto grouped = nlohmann::json::parse(with("by = bleu(right, say, tokenize='none') by length(left, 4)", "by").out);
  EXPECT_EQ(grouped["by"], reports["score"]);
  EXPECT_FALSE(grouped.contains("nll"));
  const auto& groups = grouped["details"]["by"][1];
  EXPECT_EQ(groups["title"], "by length(left, 4)");
  double lines_of_groups = 0;
  for (const auto& row : groups["rows"]) lines_of_groups += row[0].get<double>();
  EXPECT_EQ(lines_of_groups, static_cast<double>(alone.size()));
  EXPECT_THAT(with("by = bleu(right, say) by right", "by").err, HasSubstr("an example has several entries of field 'right'"));
  EXPECT_THAT(with("by = bleu(right, say) by length(middle, 4)", "by").err, HasSubstr("no field 'middle'"));
  EXPECT_THAT(with("by = chrf(right, say)", "bye").err, HasSubstr("the job has no report 'bye'; did you mean 'by'?"));
  // The model with the best score is kept.
  double best = 0;
  std::istringstream lines(read("moved/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);)
    if (const auto entry = nlohmann::json::parse(line); entry.contains("valid"))
      best = std::max(best, entry["valid"]["score"].get<double>());
  EXPECT_DOUBLE_EQ(reports["score"].get<double>(), best);
}

TEST_F(TextReports, LongLinesAreCutOrComeOutEmptyAsTheJobSays) {
  const std::string left = read("data/left"), first = left.substr(0, left.find('\n'));
  std::string lines = first + "\n";
  for (int i = 0; i < 40; ++i) lines += first + " ";
  lines += "\n";
  const auto infer = [&](const std::string& model, std::vector<std::string> sets) {
    std::vector<std::string> words = {"train", "graphs/jobs/say.pbtxt", "--out", model, "--threads", "1",
                                      "--set", "train.epochs=1"};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    const Ran trained = graphrun(words);
    EXPECT_EQ(trained.code, 0) << trained.err;
    return graphrun({"infer", model, "--threads", "1"}, lines);
  };
  const Ran cut = infer("cutting", {"infer.say.longest=30"});
  ASSERT_EQ(cut.code, 0) << cut.err;
  EXPECT_THAT(cut.err, AllOf(HasSubstr("stdin:2:1: warning[E0659 long-line]: 'left' has "), HasSubstr("at most 30 are read")));
  const Ran refused = infer("refusing", {"infer.say.longest=30", "infer.say.too_long=REFUSE"});
  ASSERT_EQ(refused.code, 0) << refused.err;
  EXPECT_EQ(std::count(refused.out.begin(), refused.out.end(), '\n'), 2);
  EXPECT_THAT(refused.out, testing::EndsWith("\n\n"));
  EXPECT_EQ(refused.out.substr(0, refused.out.find('\n')), cut.out.substr(0, cut.out.find('\n')));
}

TEST_F(TextReports, SubwordModelsThatAreMissingOrDamaged) {
  ASSERT_EQ(train({"--set", "train.epochs=1"}).code, 0);
  EXPECT_TRUE(exists("model/subwords/right.model"));
  const std::string model = read("model/subwords/left.model");
  write("model/subwords/left.model", model.substr(0, 900));
  const Ran damaged = graphrun({"infer", "model"}, "uno\n");
  EXPECT_EQ(damaged.code, 4);
  EXPECT_THAT(damaged.err, HasSubstr("the model 'model' is damaged: subwords/left.model is not what was written"));
  std::filesystem::remove(root_ / "model/subwords/left.model");
  const Ran missing = graphrun({"infer", "model"}, "uno\n");
  EXPECT_EQ(missing.code, 4);
  EXPECT_THAT(missing.err, HasSubstr("subwords/left.model"));
}

TEST_F(TextReports, MistakesOfJobs) {
  const auto expect = [&](const std::string& set, const std::string& message) {
    const Ran ran = train({"--set", set});
    EXPECT_EQ(ran.code, 3) << set;
    EXPECT_THAT(ran.err, HasSubstr(message)) << set;
  };
  expect("report=score = bleu(write, say)", "no field 'write'");
  expect("report=score = bleu(right, sai)", "no infer block 'sai'");
  expect("report=score = bleu(right)", "bleu takes a field and an infer block: bleu(english, translate)");
  expect("report=score = bleu(right, say, tokenize='intl')", "no such tokenization");
  expect("report=score = chrf(right, say, tokenize='13a')", "chrf has no 'tokenize'");
  expect("train.validate.samples=-1", "a negative number of samples");
  expect("data.field.left.vocabulary.size=0", "field 'left' is split into subwords: how many?");
  expect("data.field.left.vocabulary.min_count=2", "subwords are not chosen by their count");
  expect("data.field.left.vocabulary.model=x", "the model that is given has entries of its own");
  expect("data.field.left.vocabulary.file=x", "the entries of a field that is split into subwords are its model's pieces");
  expect("data.field.left.vocabulary.character_coverage=2", "a coverage of 2; expected 0 to 1");
  expect("data.field.left.split=SPACE", "field 'left' is split in another way");
  expect("data.field.left.joiner=@@", "only words have a joiner");
}

}  // namespace
}  // namespace graphrun
