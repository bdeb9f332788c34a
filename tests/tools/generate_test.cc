// Generation by the program: from a job with parallel files to generated lines, and the possible mistakes.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A language whose words correspond one to one to those of another.
constexpr const char* kGeneratingJob = R"x(
graph: "translator.pbtxt"
arg: "embed = 12, hidden = 16, source_vocabulary = vocabulary(left), target_vocabulary = vocabulary(right)"
data {
  train: ["../../data/left", "../../data/right"]  valid: ["../../data/left", "../../data/right"]  format: PARALLEL
  field { name: "left"  column: 0 split: SPACE }
  field { name: "right" column: 1 split: SPACE }
  feed: "source = [left, '</s>'], source_lengths = length([left, '</s>'])"
  feed: "previous = ['<s>', right], target = [right, '</s>'], target_lengths = length([right, '</s>'])"
  batch { rows: 8 bucket_by: "left" }
}
train {
  minimize: "loss"  initialize { match: "*" uniform: 0.3 }
  optimizer { adam { learning_rate: 0.02 } }  clip { global_norm: 5 }
  epochs: 12
}
report: "perplexity = exp(sum(nll) / sum(target_lengths))"
infer { name: "say" write: TEXT field: "right"
        generate { scan: "decode" feed: "y" score: "logits" begin: "<s>" end: "</s>" beam: 3
                   length { normalize: LENGTH } max_length: "source_time + 2"
                   align { from: "alignment" field: "left" } } }
infer { name: "look"  read: TSV write: MATRIX  from: "alignment" }
infer { name: "worth" read: TSV write: NUMBERS from: "nll" }
)x";

class Generate : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_word_pairs(60, 1, 4);
    write("graphs/jobs/say.pbtxt", kGeneratingJob);
  }
};

TEST_F(Generate, LearnsToSayAndSaysTheSameInAnyBatch) {
  const Ran trained = graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--threads", "1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::string input = "uno\n\ndos tres\ntres dos uno\nnada\nuno uno dos\n";
  const Ran said = graphrun({"infer", "model", "--threads", "1"}, input);
  ASSERT_EQ(said.code, 0) << said.err;
  const std::vector<std::string> lines = lines_of(said.out);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "one");
  EXPECT_EQ(lines[1], "");
  EXPECT_EQ(lines[2], "two three");
  for (const std::string rows : {"1", "2", "5"}) {
    EXPECT_EQ(graphrun({"infer", "model", "--threads", "1", "--rows", rows}, input).out, said.out) << rows;
  }

  for (const std::string form : {"float32", "bfloat16", "int8"}) {
    EXPECT_EQ(graphrun({"infer", "model", "--weights", form}, input).out, said.out) << form;
  }
  EXPECT_EQ(graphrun({"infer", "model", "--weights", "int4"}, input).code, 2);
  // The weights are rounded, as the log-probability of the output shows.
  const auto worth = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"infer", "model", "--json"});
    const auto object = nlohmann::json::parse(graphrun(words, "uno dos tres\n").out);
    return object["log_probability"].get<double>();
  };
  const double exact = worth({});
  for (const std::string form : {"bfloat16", "int8"}) {
    EXPECT_NE(worth({"--weights", form}), exact) << form;
    EXPECT_NEAR(worth({"--weights", form}), exact, 0.2) << form;
    // Also with other sentences beside it, and with more rows than are efficient.
    std::string many;
    for (int i = 0; i < 90; ++i) many += "uno dos tres\n";
    const auto alike = graphrun({"infer", "model", "--json", "--weights", form, "--rows", "90"}, many);
    EXPECT_NEAR(nlohmann::json::parse(lines_of(alike.out).at(0))["log_probability"].get<double>(), worth({"--weights", form}),
                2e-5)
        << form;
    const Ran figures = graphrun({"evaluate", "model", "--data", "data/left", "data/right", "--weights", form});
    EXPECT_EQ(figures.code, 0) << figures.err;
    EXPECT_NE(figures.out, graphrun({"evaluate", "model", "--data", "data/left", "data/right"}).out) << form;
  }

  const Ran best = graphrun({"infer", "model", "--threads", "1", "--beam", "4", "--n-best", "2"}, "uno\n\ndos\n");
  ASSERT_EQ(best.code, 0) << best.err;
  const std::vector<std::string> listed = lines_of(best.out);
  ASSERT_EQ(listed.size(), 4u);
  EXPECT_THAT(listed[0], AllOf(HasSubstr("0 ||| one ||| LogProb= -"), HasSubstr(" ||| -")));
  EXPECT_THAT(listed[1].substr(0, 6), "0 ||| ");
  EXPECT_THAT(listed[2], HasSubstr("2 ||| two ||| LogProb= -"));

  const Ran narrow = graphrun({"infer", "model", "--beam", "2", "--n-best", "5"}, "uno\n");
  EXPECT_EQ(narrow.code, 2);
  EXPECT_THAT(narrow.err, HasSubstr("a beam of 2 does not hold the 5 best"));
  // A folder with parameters but without a checkpoint is not a run to resume.
  std::filesystem::remove_all(root_ / "model/checkpoints");
  const Ran resumed = graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--resume"});
  EXPECT_EQ(resumed.code, 2);
  EXPECT_THAT(resumed.err, HasSubstr("has no checkpoint to continue from"));

  // JSON contains all of it.
  const Ran json = graphrun({"infer", "model", "--json", "--n-best", "2", "--fetch", "logits"}, "uno dos\n\n");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto object = nlohmann::json::parse(lines_of(json.out).at(0));
  EXPECT_EQ(object["text"], "one two");
  EXPECT_EQ(object["tokens"], (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(object["alternatives"].size(), 2u);
  EXPECT_EQ(object["alternatives"][0]["score"], object["score"]);
  EXPECT_EQ(object["logits"].size(), 3u);
  EXPECT_EQ(object["logits"][0].size(), 6u);
  EXPECT_EQ(object["alignment"].size(), 2u);
  EXPECT_EQ(object["alignment"][0].size(), 2u);
  EXPECT_EQ(object["units"], (std::vector<std::string>{"uno", "dos"}));
  write("aligned.jsonl", json.out);
  const Ran picture = graphrun({"plot", "--alignments", "aligned.jsonl"});
  EXPECT_EQ(picture.code, 0) << picture.err;
  EXPECT_THAT(picture.out, AllOf(testing::StartsWith("<svg "), HasSubstr(">uno</text>"), HasSubstr(">two</text>")));
  EXPECT_EQ(nlohmann::json::parse(lines_of(json.out).at(1))["text"], "");

  // A given output is kept, and has the same score as when the search finds it.
  write("begin", "three\n\n\n"), write("refs", "one\n\ntwo three\n"), write("short", "one\n");
  const Ran begun = graphrun({"infer", "model", "--prefix", "begin"}, "uno\n\ndos tres\n");
  EXPECT_THAT(lines_of(begun.out).at(0), testing::StartsWith("three"));
  EXPECT_EQ(lines_of(begun.out).at(2), "two three");
  const Ran forced = graphrun({"infer", "model", "--force", "refs", "--alignments", "links"}, "uno\n\ndos tres\n");
  ASSERT_EQ(forced.code, 0) << forced.err;
  EXPECT_EQ(lines_of(forced.out).size(), 3u);
  EXPECT_NEAR(std::stod(lines_of(forced.out)[0]),
              nlohmann::json::parse(graphrun({"infer", "model", "--json"}, "uno\n").out)["log_probability"].get<double>(),
              1e-4);
  EXPECT_EQ(lines_of(forced.out)[1], "");
  EXPECT_THAT(lines_of(read("links")),
              testing::ElementsAre(testing::MatchesRegex("([01]-0)?"), "", testing::MatchesRegex("([01]-0)? ?([01]-1)?")));
  const Ran few = graphrun({"infer", "model", "--force", "short"}, "uno\ndos\n");
  EXPECT_EQ(few.code, 4);
  EXPECT_THAT(few.err, AllOf(HasSubstr("E0653"), HasSubstr("the file ends after 1 line; 'stdin'")));
  EXPECT_THAT(graphrun({"infer", "model", "--force", "refs"}, "uno\n").err,
              HasSubstr("'refs', which is read with it, has more"));

  // Lines with the sizes of each example: a matrix with the attention of each word, a number for each word.
  const std::string pairs = "uno dos tres\tone\nuno\tone two three\n";
  const Ran looked = graphrun({"infer", "model", "--mode", "look"}, pairs);
  ASSERT_EQ(looked.code, 0) << looked.err;
  const std::vector<std::string> looks = lines_of(looked.out);
  ASSERT_EQ(looks.size(), 2u + 1 + 4 + 1);
  const auto spaces = [](const std::string& text) { return std::count(text.begin(), text.end(), ' '); };
  for (std::size_t i : {0u, 1u}) EXPECT_EQ(spaces(looks[i]), 3) << looks[i];
  EXPECT_EQ(looks[2], "");
  for (std::size_t i : {3u, 6u}) EXPECT_EQ(spaces(looks[i]), 1) << looks[i];
  const std::vector<std::string> worths = lines_of(graphrun({"infer", "model", "--mode", "worth"}, pairs).out);
  ASSERT_EQ(worths.size(), 2u);
  EXPECT_EQ(spaces(worths[0]), 1) << worths[0];
  EXPECT_EQ(spaces(worths[1]), 3) << worths[1];

  // The same seed gives the same sample; at a low temperature only the best remains.
  const auto draw = [&](const std::string& seed, const std::string& in) {
    return graphrun({"infer", "model", "--temperature", "5", "--seed", seed, "--n-best", "3"}, in).out;
  };
  EXPECT_EQ(draw("1", "uno dos\n"), draw("1", "uno dos\n"));
  EXPECT_NE(draw("1", "uno dos\n"), draw("2", "uno dos\n"));
  EXPECT_EQ(lines_of(draw("1", "tres\nuno dos\n")).at(3).substr(1), lines_of(draw("1", "uno dos\n")).at(0).substr(1));
  EXPECT_EQ(graphrun({"infer", "model", "--temperature", "0.01", "--top-k", "2"}, "uno dos\n").out, "one two\n");
  EXPECT_EQ(graphrun({"infer", "model", "--temperature", "0"}, "uno\n").code, 2);
  EXPECT_EQ(graphrun({"infer", "model", "--seed", "-1"}, "uno\n").code, 2);
  EXPECT_EQ(graphrun({"infer", "model", "--force", "refs", "--prefix", "refs"}, "uno\n").code, 2);

  const Ran fetched = graphrun({"infer", "model", "--fetch", "logits", "--fetch-out", "x"}, "uno\n");
  EXPECT_EQ(fetched.code, 2);
  EXPECT_THAT(fetched.err, HasSubstr("E0427"));
}

// Fetched values have the sizes of their own line, whatever else is in the batch; the use of a trained model can be set.
TEST_F(Generate, ShowsEachLineAlone) {
  ASSERT_EQ(graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--set", "train.epochs=4"}).code, 0);
  const std::string input = "uno\ndos tres uno\n";
  const Ran shown =
      graphrun({"infer", "model", "--json", "--fetch", "decode.read.attend.weights", "--fetch", "decode.read.s.h"}, input);
  ASSERT_EQ(shown.code, 0) << shown.err;
  const std::vector<std::string> lines = lines_of(shown.out);
  for (const std::size_t k : {0u, 1u}) {
    const auto object = nlohmann::json::parse(lines.at(k));
    const std::size_t steps = object["tokens"].size() + (object["ended"] ? 1 : 0);
    EXPECT_EQ(object["decode.read.attend.weights"].size(), steps);
    EXPECT_EQ(object["decode.read.attend.weights"][0].size(), object["units"].size() + 1) << "the end is looked at too";
    EXPECT_EQ(object["decode.read.s.h"].size(), steps) << "a state";
    EXPECT_EQ(object["decode.read.s.h"][0].size(), 16u);
  }
  // The object's own fields keep their names; the encoder's values appear once for each line.
  for (const std::vector<std::string>& rest : std::vector<std::vector<std::string>>{{}, {"--n-best", "2"}}) {
    std::vector<std::string> words = {"infer",   "model",  "--json",  "--fetch",           "alignment",
                                      "--fetch", "logits", "--fetch", "encode.annotations"};
    words.insert(words.end(), rest.begin(), rest.end());
    const Ran taken = graphrun(words, input);
    ASSERT_EQ(taken.code, 0) << taken.err;
    for (const std::size_t k : {0u, 1u}) {
      const auto object = nlohmann::json::parse(lines_of(taken.out).at(k));
      const std::size_t steps = object["tokens"].size() + (object["ended"] ? 1 : 0), units = object["units"].size();
      EXPECT_EQ(object["alignment"].size(), object["tokens"].size());
      ASSERT_EQ(object["fetched.alignment"].size(), steps);
      EXPECT_EQ(object["fetched.alignment"][0].size(), units + 1);
      for (std::size_t u = 0; u < units; ++u) EXPECT_EQ(object["fetched.alignment"][0][u], object["alignment"][0][u]);
      EXPECT_EQ(object["logits"].size(), steps);
      EXPECT_EQ(object["encode.annotations"].size(), units + 1);
      EXPECT_EQ(object["encode.annotations"][0].size(), 32u);
    }
    // The same as in a run of the whole network.
    const auto alone = nlohmann::json::parse(lines_of(graphrun(words, "uno\n").out).at(0));
    const auto among = nlohmann::json::parse(lines_of(taken.out).at(0));
    for (std::size_t u = 0; u < alone["encode.annotations"].size(); ++u)
      EXPECT_NEAR(alone["encode.annotations"][u][3].get<double>(), among["encode.annotations"][u][3].get<double>(), 1e-5);
  }
  const Ran unknown = graphrun({"infer", "model", "--json", "--fetch", "decode.read.s.g"}, input);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("of what --fetch names"), HasSubstr("did you mean 'decode.read.s.h'")));

  const auto score = [&](const std::vector<std::string>& rest) {
    std::vector<std::string> words = {"infer", "model", "--json"};
    words.insert(words.end(), rest.begin(), rest.end());
    return nlohmann::json::parse(graphrun(words, "uno\n").out);
  };
  const auto by_length = score({}), alone = score({"--set", "infer.say.generate.length.normalize=NONE"});
  EXPECT_NE(by_length["score"], alone["score"]);
  EXPECT_EQ(alone["score"], alone["log_probability"]);
  const Ran other = graphrun({"infer", "model", "--set", "hidden=3"}, "uno\n");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("--set hidden=3: of a trained model infer, report and product_precision can be set"));

  // The log-probability of each example, as when it is forced.
  write("references", "one\ntwo three one\n"), write("inputs", input);
  const Ran evaluated = graphrun({"evaluate", "model", "--data", "inputs", "references", "--each", "each", "--set",
                                  "report=log_probability = -sum(nll) / count(rows)"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const Ran forced = graphrun({"infer", "model", "inputs", "--force", "-"}, read("references"));
  ASSERT_EQ(forced.code, 0) << forced.err;
  for (const std::size_t k : {0u, 1u}) {
    EXPECT_NEAR(nlohmann::json::parse(lines_of(read("each")).at(k))["log_probability"].get<double>(),
                std::stod(lines_of(forced.out).at(k)), 1e-4);
  }
  EXPECT_EQ(graphrun({"infer", "model", "--force", "-"}, input).code, 2);
}

// A report of generated text reads lines as infer does.
TEST_F(Generate, ScoresWhatInferWrites) {
  const auto with = [&](const std::string& limit) {
    return std::vector<std::string>{"--set", "infer.say.longest=2",           "--set", "infer.say.too_long=" + limit,
                                    "--set", "report=chrf = chrf(right, say)"};
  };
  ASSERT_EQ(graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model"}).code, 0);
  std::vector<double> scores;
  for (const std::string limit : {"CUT", "REFUSE"}) {
    std::vector<std::string> evaluate = {"evaluate", "model", "--data", "data/left", "data/right", "--json"},
                             infer = {"infer", "model", "data/left"};
    for (const std::string& word : with(limit)) evaluate.push_back(word), infer.push_back(word);
    const Ran figures = graphrun(evaluate);
    ASSERT_EQ(figures.code, 0) << figures.err;
    write("said", graphrun(infer).out);
    const Ran scored = graphrun({"score", "said", "data/right", "--metric", "chrf", "--json"});
    ASSERT_EQ(scored.code, 0) << scored.err;
    scores.push_back(nlohmann::json::parse(figures.out)["chrf"]);
    EXPECT_NEAR(nlohmann::json::parse(scored.out)["chrf"]["score"].get<double>(), scores.back(), 1e-4) << limit;
  }
  EXPECT_GT(scores[0], scores[1]);
  EXPECT_LT(scores[0], 99);
}

TEST_F(Generate, NamesTheSettingThatIsWrong) {
  const auto refused = [&](const std::string& setting, const std::string& message) {
    const Ran ran = graphrun({"check", "graphs/jobs/say.pbtxt", "--set", setting});
    EXPECT_EQ(ran.code, 3) << setting;
    EXPECT_THAT(ran.err, AllOf(testing::ContainsRegex("(--set:1|say.pbtxt:19):[0-9]+: error"), HasSubstr(message))) << setting;
  };
  refused("infer.say.generate.align.field=right", "align: generation does not read field 'right'");
  refused("infer.say.generate.score=nll", "score: generation would need 'target'");
  refused("infer.say.generate.align.from=nothing", "align.from: graph 'translator' has no output or value 'nothing'");
  // Unusual, but it runs.
  const auto warned = [&](const std::string& setting, const std::string& message) {
    const Ran ran = graphrun({"check", "graphs/jobs/say.pbtxt", "--set", setting});
    EXPECT_EQ(ran.code, 0) << setting;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("warning[E0421 unused-setting]"), HasSubstr(message))) << setting;
  };
  warned("infer.say.generate.length.alpha=0.5", "alpha is a part of normalize: GNMT");
  warned("infer.say.generate.sample.temperature=2", "a beam searches and sample draws");
  const Ran graph = graphrun({"train", "graphs/translator.pbtxt", "--out", "no"});
  EXPECT_EQ(graph.code, 3);
  EXPECT_THAT(graph.err, HasSubstr("the file says of itself that it is a Graph; expected a Job"));
}

// The search runs on the device; with given or sampled words, results are those of the search on the host.
TEST_F(Generate, ADeviceSaysWhatTheCpuSays) {
  setenv("GRAPHRUN_CUDA_LIBRARY", (tests::build_folder() + "/libgraphrun_cuda_emulated.so").c_str(), 1);
  const Ran trained = graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--set", "train.epochs=4"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  write("begin", "three\n\none\n\ntwo two\n"), write("refs", "one\n\ntwo three\nthree two one\none\n");
  const std::string input = "uno\n\ndos tres\ntres dos uno\nuno uno dos\n";
  for (const std::vector<std::string>& rest : std::vector<std::vector<std::string>>{{},
                                                                                    {"--rows", "2"},
                                                                                    {"--beam", "1"},
                                                                                    {"--beam", "9"},
                                                                                    {"--prefix", "begin"},
                                                                                    {"--temperature", "2", "--seed", "4"}}) {
    std::vector<std::string> said;
    for (const std::string device : {"cpu", "cuda"}) {
      std::vector<std::string> words = {"infer", "model", "--device", device, "--alignments", "links-" + device};
      words.insert(words.end(), rest.begin(), rest.end());
      const Ran ran = graphrun(words, input);
      ASSERT_EQ(ran.code, 0) << ran.err;
      said.push_back(ran.out + read("links-" + device));
    }
    EXPECT_EQ(said[1], said[0]) << (rest.empty() ? "as the job says" : rest[0]);
  }
  for (const std::vector<std::string>& rest : std::vector<std::vector<std::string>>{
           {"--n-best", "2", "--fetch", "logits", "--fetch", "encode.annotations"}, {"--force", "refs"}}) {
    std::vector<std::vector<nlohmann::json>> objects(2);
    for (const std::size_t k : {0u, 1u}) {
      std::vector<std::string> words = {"infer", "model", "--json", "--device", k == 0 ? "cpu" : "cuda"};
      words.insert(words.end(), rest.begin(), rest.end());
      const Ran ran = graphrun(words, input);
      ASSERT_EQ(ran.code, 0) << ran.err;
      for (const std::string& line : lines_of(ran.out)) objects[k].push_back(nlohmann::json::parse(line));
    }
    ASSERT_EQ(objects[0].size(), 5u);
    for (std::size_t line = 0; line < objects[0].size(); ++line) {
      const nlohmann::json flat[] = {objects[0][line].flatten(), objects[1].at(line).flatten()};
      ASSERT_EQ(flat[0].size(), flat[1].size());
      for (const auto& [name, value] : flat[0].items()) {
        if (value.is_number_float()) {
          EXPECT_NEAR(flat[1].at(name).get<double>(), value.get<double>(), 1e-4) << name;
        } else {
          EXPECT_EQ(flat[1].at(name), value) << name;
        }
      }
    }
  }
  unsetenv("GRAPHRUN_CUDA_LIBRARY");
}

// A written value need not depend on the lengths that determine how much of it belongs to an example.
TEST_F(Generate, NumbersOfANetworkThatNeedsNoLengths) {
  write("graphs/seen.pbtxt", R"x(name: "seen"
arg { name: "words" }
input { name: "x" shape: "[time, batch]" type: INT32 below: "words" }
input { name: "lengths" shape: "[batch]" type: INT32 lengths_of: "time" }
parameter { name: "E" shape: "[words, 3]" }
let: "seen = sum(gather(E, x), axis=-1)"
output: "parts = transpose(gather(E, x)[0]), seen, loss = sum(mask(seen * seen, lengths=lengths, axis=0))"
)x");
  write("graphs/jobs/seen.pbtxt", R"x(
graph: "seen.pbtxt"
arg: "words = vocabulary(left)"
data {
  train: "../../data/left"  format: LINES
  field { name: "left" split: SPACE }
  feed: "x = left, lengths = length(left)"
  batch { rows: 8 }
}
train { minimize: "loss"  optimizer { sgd { learning_rate: 0.01 } }  epochs: 1 }
infer { name: "say" write: NUMBERS from: "seen" }
infer { name: "parts" write: NUMBERS from: "parts" }
)x");
  const Ran trained = graphrun({"train", "graphs/jobs/seen.pbtxt", "--out", "seen"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ran said = graphrun({"infer", "seen"}, "uno dos\nuno\n");
  ASSERT_EQ(said.code, 0) << said.err;
  const std::vector<std::string> lines = lines_of(said.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].substr(0, lines[0].find(' ')), lines[1]);
  // An axis of constant size is written whole for every example.
  const std::vector<std::string> parts = lines_of(graphrun({"infer", "seen", "--mode", "parts"}, "uno dos\nuno\n").out);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0], parts[1]);
  EXPECT_EQ(std::count(parts[0].begin(), parts[0].end(), ' '), 2);
}

TEST_F(Generate, UnknownWordsAreReplacedByWhatTheyAreAlignedTo) {
  const std::string left = read("data/left"), right = read("data/right");
  std::string more_left, more_right;
  for (int n = 0; n < 20; ++n) {
    more_left += "nombre" + std::to_string(n) + "\n", more_right += "name" + std::to_string(n) + "\n";
  }
  write("data/left", left + more_left), write("data/right", right + more_right);
  const Ran trained =
      graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--set", "data.field.left.vocabulary.min_count=2", "--set",
                "data.field.right.vocabulary.min_count=2", "--set", "infer.say.generate.align.replace=<unk>", "--set",
                "data.field.left.normalize=[NFKC, LOWER]"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(graphrun({"infer", "model"}, "Anna\n").out, "Anna\n");  // unchanged, whatever the network is fed
  // Forced words stay unchanged.
  write("refs", "Berta\n");
  const Ran forced = graphrun({"infer", "model", "--force", "refs", "--json"}, "Anna\n");
  ASSERT_EQ(forced.code, 0) << forced.err;
  EXPECT_EQ(nlohmann::json::parse(forced.out)["text"], "<unk>");
  // The input file is not overwritten, and given words are not searched for.
  write("input", "uno\n"), write("words", "one\n");
  for (const std::string file : {"input", "words"}) {
    const Ran over = graphrun({"infer", "model", "input", "--force", "words", "--alignments", file});
    EXPECT_THAT(over.err, AllOf(HasSubstr("E0429"), HasSubstr("would overwrite '" + file + "'")));
  }
  EXPECT_EQ(read("input") + read("words"), "uno\none\n");
  for (const std::string option : {"--beam", "--n-best", "--top-k", "--temperature", "--seed"})
    EXPECT_THAT(graphrun({"infer", "model", "input", "--force", "words", option, "2"}).err,
                AllOf(HasSubstr("E0429"), HasSubstr("nothing is searched or drawn")))
        << option;
}

// Pieces are aligned; the output is text.
TEST_F(Generate, AlignsSubwords) {
  std::string job = read("graphs/jobs/say.pbtxt");
  for (const std::string column : {"0", "1"}) {
    const std::string words = "column: " + column + " split: SPACE";
    job.replace(job.find(words), words.size(), "column: " + column + " split: BPE vocabulary { size: 14 }");
  }
  write("graphs/jobs/say.pbtxt", job);
  const Ran trained = graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--set", "train.epochs=1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  write("refs", "one two\n");
  const Ran forced = graphrun({"infer", "model", "--force", "refs", "--alignments", "links", "--json"}, "uno dos\n");
  ASSERT_EQ(forced.code, 0) << forced.err;
  const auto object = nlohmann::json::parse(forced.out);
  EXPECT_EQ(object["text"], "one two");
  EXPECT_EQ(object["alignment"].size(), object["tokens"].size());
  EXPECT_EQ(lines_of(read("links")).size(), 1u);

  // By words if the job says so: sums over the pieces of an input word, means over the pieces of an output word.
  const Ran by_words = graphrun({"infer", "model", "--force", "refs", "--alignments", "word-links", "--json", "--set",
                                 "infer.say.generate.align.units=WORDS"},
                                "uno dos\n");
  ASSERT_EQ(by_words.code, 0) << by_words.err;
  const auto of_words = nlohmann::json::parse(by_words.out);
  EXPECT_EQ(of_words["tokens"], object["tokens"]);
  EXPECT_EQ(of_words["words"], (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(of_words["units"], (std::vector<std::string>{"uno", "dos"}));
  ASSERT_EQ(of_words["alignment"].size(), 2u);
  const auto begins_word = [](const std::string& piece) { return piece.starts_with("▁"); };
  const auto units = object["units"].get<std::vector<std::string>>(), tokens = object["tokens"].get<std::vector<std::string>>();
  ASSERT_GT(units.size() + tokens.size(), 4u) << "no word has two pieces";
  std::vector<std::vector<double>> expected(2, std::vector<double>(2, 0));
  int word = -1;
  std::vector<int> pieces(2, 0);
  for (std::size_t k = 0; k < tokens.size(); ++k) {
    word += begins_word(tokens[k]);
    ++pieces.at(static_cast<std::size_t>(word));
    int unit = -1;
    for (std::size_t u = 0; u < units.size(); ++u) {
      unit += begins_word(units[u]);
      expected[static_cast<std::size_t>(word)].at(static_cast<std::size_t>(unit)) += object["alignment"][k][u].get<double>();
    }
  }
  for (std::size_t w = 0; w < 2; ++w)
    for (std::size_t u = 0; u < 2; ++u)
      EXPECT_NEAR(of_words["alignment"][w][u].get<double>(), expected[w][u] / pieces[w], 1e-6) << w << " " << u;
  write("words.jsonl", by_words.out);
  const Ran picture = graphrun({"plot", "--alignments", "words.jsonl"});
  EXPECT_EQ(picture.code, 0) << picture.err;
  EXPECT_THAT(picture.out, AllOf(HasSubstr(">uno</text>"), HasSubstr(">two</text>")));
  write("gold", "1-1 2-2\n");
  const Ran scored = graphrun({"score", "word-links", "gold", "--metric", "aer"});
  EXPECT_EQ(scored.code, 0) << scored.err;
}

TEST_F(Generate, MistakesAreFoundBeforeAnyTraining) {
  const std::string g = "infer.say.generate.";
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {g + "scan=decod", "has no scan 'decod' to generate with"},
      {g + "feed=x", "takes no sequence 'x'"},
      {g + "score=nll", "generation would need 'target', which is known in training alone"},
      {g + "score=alignment", "must give a number for each word"},
      {g + "begin=<start>", "'<start>' is no entry of the vocabulary of field 'right'"},
      {g + "max_length=2 * target_time", "no input that generation reads holds the lengths of 'target_time'"},
      {g + "max_length=2 ^ source_time", "max_length is a sum of numbers and sizes"},
      {g + "n_best=4", "n_best is 4, above the beam of 3"},
      {g + "beam=4096", "beam is 4096; expected at most 4095"},
      {g + "beam=-1", "beam is -1; expected 1 or more"},
      {g + "min_length=-1", "min_length is -1; expected 0 or more"},
      {g + "max_length=0", "max_length is 0; expected 1 or more"},
      {g + "max_length=source_time + 100001", "max_length has 100001 words; expected at most 100000"},
      {"infer.say.field=left", "scores 6 words, but the vocabulary of field 'left' has 5"},
      {"infer.say.write=NUMBERS", "what is generated is written as TEXT or JSON"},
      {g + "align.from=logits", "must give a number for each position of the input"},
      {g + "align.field=lefd", "lefd"},
      {g + "align.replace=<none>", "'<none>', which is to be replaced, is no entry of the vocabulary of field 'right'"},
      {g + "sample.temperature=0", "temperature is 0; expected a number above 0"},
      {"infer.say.from=alignment", "generate stands in the place of `from`"},
  };
  for (const auto& [set, message] : mistakes) {
    const Ran ran = graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--set", set});
    EXPECT_EQ(ran.code, 3) << set;
    EXPECT_THAT(ran.err, HasSubstr(message)) << set;
    EXPECT_FALSE(exists("model/manifest.json")) << set;
  }
}

}  // namespace
}  // namespace graphrun
