// Generation by language models: they read only words, so the input lines are prompts.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The shipped language model, trained on 120 lines of four sentences.
class Prompts : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_language_model();
    write(kJob, read(kJob) + R"x(infer { name: "continue" write: TEXT field: "text"
        generate { scan: "layers.read" feed: "x" score: "logits" begin: "<eos>" end: "<eos>" max_length: "12" } }
)x");
  }
  void train(const std::vector<std::string>& settings = {}) {
    std::vector<std::string> words = {"train", kJob, "--out", "model", "--threads", "1", "--set", "train.epochs=12"};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    const Ran trained = graphrun(words);
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  Ran infer(const std::vector<std::string>& rest, const std::string& input = "") const {
    std::vector<std::string> words = {"infer", "model", "--mode", "continue"};
    words.insert(words.end(), rest.begin(), rest.end());
    return graphrun(words, input);
  }
  static constexpr const char* kJob = "graphs/jobs/words.pbtxt";
};

TEST_F(Prompts, AreContinuedAndBeginWithNothingWhereALineIsEmpty) {
  train({"depth=2"});
  const std::string prompts = "the dog\n\na cat saw\n";
  const Ran said = infer({}, prompts);
  ASSERT_EQ(said.code, 0) << said.err;
  const std::vector<std::string> lines = lines_in(said.out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], StartsWith("the dog "));
  EXPECT_NE(lines[1], "");
  EXPECT_THAT(lines[2], StartsWith("a cat saw "));
  // Independent of the other lines and of their position.
  EXPECT_EQ(infer({"--rows", "1"}, prompts).out, said.out);
  write("prompts", prompts);
  EXPECT_EQ(infer({"prompts"}).out, said.out);
  EXPECT_EQ(infer({"--prefix", "prompts"}).out, said.out);
  EXPECT_EQ(infer({"--prefix", "-"}, prompts).out, said.out);
  // Also with the name of the input.
  EXPECT_EQ(infer({"--set", "infer.continue.generate.feed=words"}, prompts).out, said.out);
  // A line that is not valid text is not a prompt.
  const Ran bad = infer({}, "the dog\n\xff\n");
  EXPECT_EQ(bad.out, lines[0] + "\n\n");
  // A prompt may not contain the end symbol, not even as its last word.
  for (const std::string ended : {"the dog <eos> a cat", "the dog <eos>"}) {
    const Ran ends = infer({}, "the dog\n" + ended + "\n");
    EXPECT_EQ(ends.code, 4);
    EXPECT_EQ(ends.out, lines[0] + "\n");
    EXPECT_THAT(ends.err, AllOf(HasSubstr("stdin:2"), HasSubstr("E0644"), HasSubstr("word 3 is '<eos>'")));
    write("ends", ended + "\n");
    EXPECT_EQ(infer({"--force", "ends"}).code, 4);
    EXPECT_EQ(infer({"--prefix", "ends"}).code, 4);
  }

  const std::vector<std::string> best = lines_in(infer({"--beam", "4", "--n-best", "3"}, "the dog\n\n").out);
  ASSERT_EQ(best.size(), 6u);
  EXPECT_THAT(best[0], StartsWith("0 ||| the dog"));
  EXPECT_THAT(best[5], StartsWith("1 ||| "));
  const auto drawn = [&](const std::string& seed) { return infer({"--temperature", "9", "--seed", seed}, prompts).out; };
  EXPECT_EQ(drawn("1"), drawn("1"));
  EXPECT_NE(drawn("1"), drawn("2"));
  for (const std::string& line : lines_in(infer({"--n-best", "4", "--temperature", "2"}, "a dog\n").out))
    EXPECT_THAT(line, StartsWith("0 ||| a dog"));
  const auto object = nlohmann::json::parse(infer({"--json", "--fetch", "logits"}, "the dog\n").out);
  EXPECT_EQ(object["text"], lines[0]);
  EXPECT_EQ(object["logits"].size(), object["tokens"].size() + (object["ended"] ? 1 : 0));

  const Ran twice = infer({"prompts", "--prefix", "prompts"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err,
              AllOf(HasSubstr("E0429"),
                    HasSubstr("infer 'continue' reads one text, and both 'prompts' and --prefix 'prompts' give it")));
  EXPECT_EQ(infer({"prompts", "--alignments", "prompts"}).code, 2);
}

// The score of a line is the log-probability that the trained network computes, between two end symbols.
TEST_F(Prompts, AreScored) {
  for (const std::string tied : {"false", "true"}) {
    std::filesystem::remove_all(root_ / "model");
    train({"tied=" + tied});
    write("lines", "the cat sat\n\nthe dog saw a cat\n");
    const Ran scored = infer({"--force", "lines"});
    ASSERT_EQ(scored.code, 0) << scored.err;
    EXPECT_EQ(infer({"--force", "-"}, read("lines")).out, scored.out);
    const std::vector<std::string> lines = lines_in(scored.out);
    const std::vector<std::string> nll = lines_in(
        graphrun({"infer", "model", "--mode", "score", "--rows", "1"}, "<eos> the cat sat\n<eos>\n<eos> the dog saw a cat\n")
            .out);
    ASSERT_EQ(lines.size(), 3u);
    ASSERT_EQ(nll.size(), 3u);
    for (const std::size_t i : {0u, 2u}) EXPECT_NEAR(std::stod(lines[i]), -std::stod(nll[i]), 1e-3) << tied;
    EXPECT_LT(std::stod(lines[1]), 0) << "that nothing but the end comes";
    // Greedy search reports the score of the words it found.
    const auto found = nlohmann::json::parse(infer({"--json"}, "\n").out);
    write("found", found["text"].get<std::string>() + "\n");
    if (found["ended"]) {
      EXPECT_NEAR(std::stod(infer({"--force", "found"}).out), found["log_probability"].get<double>(), 1e-4);
    }
  }
}

// For any data format: rows of a format of examples have lengths, and no states continue from batch to batch.
TEST_F(Prompts, OfExamples) {
  write("graphs/lines.pbtxt", R"x(name: "lines"
import: "cell = cells/gru.pbtxt"
arg { name: "words" }
arg { name: "hidden" default: "16" }
input { name: ["x", "y"] shape: "[time, batch]" type: INT32 below: "words" }
input { name: "lengths" shape: "[batch]" type: INT32 lengths_of: "time" }
parameter { name: "E" shape: "[words, hidden]" }
parameter { name: "b" shape: "[words]" }
scan { name: "read" graph: "cell" arg: "hidden" each: "x = gather(E, x)" lengths: "lengths" }
let: "scores = read.h @ transpose(E) + b"
let: "nll = mask(cross_entropy(scores, y), lengths=lengths, axis=0)"
output: "scores, nll, loss = sum(nll)"
)x");
  write("graphs/jobs/lines.pbtxt", R"x(
graph: "lines.pbtxt"
arg: "words = vocabulary(text)"
data {
  train: "../../data/text.txt" format: LINES
  field { name: "text" split: SPACE }
  feed: "x = ['<s>', text], y = [text, '</s>'], lengths = length(['<s>', text])"
  batch { rows: 8 }
}
train { minimize: "loss" per: "batch" optimizer { adam { learning_rate: 0.01 } } epochs: 8 }
infer { name: "continue" write: TEXT field: "text"
        generate { scan: "read" feed: "x" score: "scores" begin: "<s>" end: "</s>" beam: 2 max_length: "20" } }
)x");
  const Ran trained = graphrun({"train", "graphs/jobs/lines.pbtxt", "--out", "model"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ran said = infer({}, "a dog\n\n");
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(lines_in(said.out).at(0), StartsWith("a dog lay on the rug"));
  const Ran limited = infer({"--set", "infer.continue.longest=1"}, "a dog\n");
  EXPECT_THAT(limited.err, HasSubstr("E0659"));
  EXPECT_THAT(limited.out, StartsWith("a "));
  // On a device, where the host searches because the lines are prompts.
  setenv("GRAPHRUN_CUDA_LIBRARY", (tests::build_folder() + "/libgraphrun_cuda_emulated.so").c_str(), 1);
  EXPECT_EQ(infer({"--device", "cuda"}, "a dog\n\n").out, said.out);
  unsetenv("GRAPHRUN_CUDA_LIBRARY");
}

}  // namespace
}  // namespace graphrun
