// The output of infer blocks without generation: entries and numbers, a row of classes for each example, JSON.
#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A classifier of lines, trained for one epoch.
class InferBlocks : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("graphs/kinds.pbtxt", R"x(name: "kinds"
arg { name: ["words", "kinds"] }
input { name: "x" shape: "[time, batch]" type: INT32 below: "words" }
input { name: "lengths" shape: "[batch]" type: INT32 lengths_of: "time" }
input { name: "kind" shape: "[batch]" type: INT32 below: "kinds" }
parameter { name: "E" shape: "[words, kinds]" init { normal: 1 } }
let: "each = gather(E, x)"
let: "logits = sum(each, axis=0, lengths=lengths)"
let: "best, order = topk(logits, k=2)"
output: "p = softmax(logits, axis=-1), answer = argmax(logits, axis=-1), order, each, turned = transpose(each, permutation=[1, 0, 2]), tags = argmax(each, axis=-1), loss = sum(cross_entropy(logits, kind))"
)x");
    write("data/kinds.tsv", "uno dos\ta\ndos\tb\ntres tres uno\tc\n");
    write("graphs/jobs/kinds.pbtxt", R"x(
graph: "kinds.pbtxt"
arg: "words = vocabulary(text), kinds = vocabulary(kind)"
data {
  train: "../../data/kinds.tsv" format: TSV
  field { name: "text" column: 0 split: SPACE }
  field { name: "kind" column: 1 vocabulary { closed: true } }
  feed: "x = text, lengths = length(text), kind"
  batch { rows: 8 }
}
train { minimize: "loss" optimizer { sgd { learning_rate: 0.1 } } epochs: 1 }
infer { name: "probabilities" write: NUMBERS from: "p" }
infer { name: "answer" write: TEXT field: "kind" from: "answer" }
infer { name: "order" write: TEXT field: "kind" from: "order" }
infer { name: "object" write: JSON from: "p" }
infer { name: "each" write: JSON from: "each" }
infer { name: "said" write: JSON field: "kind" from: "tags" }
infer { name: "turned" write: MATRIX from: "turned" }
)x");
    const Ran trained = graphrun({"train", "graphs/jobs/kinds.pbtxt", "--out", "model"});
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  std::vector<std::string> lines(const std::string& mode, const std::vector<std::string>& more = {},
                                 const std::string& input = "uno dos\n\ntres tres uno\n") const {
    std::vector<std::string> words = {"infer", "model", "--mode", mode};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = graphrun(words, input);
    EXPECT_EQ(ran.code, 0) << mode << ": " << ran.err;
    std::vector<std::string> all;
    std::istringstream in(ran.out);
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
};

TEST_F(InferBlocks, WriteClassesOfEachExample) {
  const std::vector<std::string> numbers = lines("probabilities");
  ASSERT_EQ(numbers.size(), 3u);
  EXPECT_EQ(numbers[1], "");
  for (const std::size_t i : {0u, 2u}) {
    std::istringstream in(numbers[i]);
    std::vector<double> p;
    for (double x; in >> x;) p.push_back(x);
    ASSERT_EQ(p.size(), 3u);
    EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-5);
    const std::size_t best = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    const std::string answer = lines("answer")[i];
    EXPECT_EQ(answer, std::string(1, static_cast<char>("abc"[best])));
    EXPECT_EQ(lines("order")[i].substr(0, 2), answer + " ");
    EXPECT_EQ(lines("order")[i].size(), 3u);
    EXPECT_EQ(json::parse(lines("object")[i])["values"].size(), 3u);
    EXPECT_NEAR(json::parse(lines("object")[i])["values"][best].get<double>(), p[best], 1e-6);
  }
}

TEST_F(InferBlocks, WriteJson) {
  const std::vector<std::string> each = lines("each");
  EXPECT_EQ(each[1], "{\"values\":[]}");
  for (const auto& [i, steps] : {std::pair(0u, 2u), std::pair(2u, 3u)}) {
    const json values = json::parse(each[i])["values"];
    ASSERT_EQ(values.size(), steps) << "its own steps alone";
    EXPECT_EQ(values[0].size(), 3u);
  }
  const json said = json::parse(lines("said")[2]);
  ASSERT_EQ(said["tokens"].size(), 3u);
  EXPECT_EQ(said["tokens"][0], said["tokens"][1]);
  EXPECT_EQ(said["text"].get<std::string>().size(), 5u);
  EXPECT_EQ(lines("said")[1], "{\"text\":\"\",\"tokens\":[]}");
  // Any block can be selected.
  EXPECT_EQ(json::parse(lines("answer", {"--json"})[0])["text"], lines("answer")[0]);
  EXPECT_EQ(json::parse(lines("probabilities", {"--json"})[0])["values"].size(), 3u);
  EXPECT_EQ(graphrun({"infer", "model", "--beam", "2"}, "uno\n").code, 2);
  // A matrix for each line, with the batch's axis in the middle.
  EXPECT_EQ(lines("turned", {}, "uno dos\n").size(), 3u);
}

}  // namespace
}  // namespace graphrun
