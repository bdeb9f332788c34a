// Generation by the program: from a job over parallel files to lines that it makes.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/folders.h"
#include "tests/tools/generate_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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
  // In input order, with the text given for each line, however far it reads ahead.
  write("begin", "\n\nthree\n\none\n\n");
  const auto listed_ahead = [&](const std::string& lines) {
    const Ran ran = graphrun(
        {"infer", "model", "--rows", "2", "--read-ahead", lines, "--n-best", "2", "--prefix", "begin", "--alignments", "links"},
        input);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return std::pair(ran.out, read("links"));
  };
  const auto in_turn = listed_ahead("0");
  EXPECT_EQ(lines_of(in_turn.first).size(), 10u);
  EXPECT_THAT(lines_of(in_turn.first).at(2), testing::StartsWith("2 ||| three"));
  for (const std::string lines : {"3", "4096", "9223372036854775807"}) EXPECT_EQ(listed_ahead(lines), in_turn) << lines;
  EXPECT_EQ(graphrun({"infer", "model", "--read-ahead", "-1"}, input).code, 2);

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
  std::set<std::string> figures_of_forms = {graphrun({"evaluate", "model", "--data", "data/left", "data/right"}).out};
  for (const std::string form : {"bfloat16", "int8"}) {
    EXPECT_NE(worth({"--weights", form}), exact) << form;
    EXPECT_NEAR(worth({"--weights", form}), exact, 0.2) << form;
    // Also with other sentences in the batch, and with more rows than are efficient.
    std::string many;
    for (int i = 0; i < 90; ++i) many += "uno dos tres\n";
    const auto alike = graphrun({"infer", "model", "--json", "--weights", form, "--rows", "90"}, many);
    EXPECT_NEAR(nlohmann::json::parse(lines_of(alike.out).at(0))["log_probability"].get<double>(), worth({"--weights", form}),
                2e-5)
        << form;
    const Ran figures = graphrun({"evaluate", "model", "--data", "data/left", "data/right", "--weights", form});
    EXPECT_EQ(figures.code, 0) << figures.err;
    figures_of_forms.insert(figures.out);
  }
  EXPECT_GE(figures_of_forms.size(), 2u);  // to four digits, two of them may agree

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
  // The end symbol would end the text before its last words.
  write("ends", "one\none </s> two\n");
  for (const std::string option : {"--force", "--prefix"}) {
    const Ran ends = graphrun({"infer", "model", option, "ends"}, "uno\ndos\n");
    EXPECT_EQ(ends.code, 4) << option;
    EXPECT_THAT(ends.err, AllOf(HasSubstr("ends:2"), HasSubstr("E0644"), HasSubstr("word 2 is '</s>'"))) << option;
    EXPECT_EQ(lines_of(ends.out).size(), 1u) << option;
  }

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

}  // namespace
}  // namespace graphrun
