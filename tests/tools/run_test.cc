// graphrun run: a graph on given numbers.
#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "runtime/tensor/safetensors.h"
#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kGraph =
    "name: \"g\"\n"
    "input { name: \"x\" shape: \"[batch, 2]\" }\n"
    "input { name: \"words\" shape: \"[time, batch]\" type: INT32 below: \"5\" }\n"
    "input { name: \"on\" shape: \"[batch]\" type: BOOL }\n"
    "parameter { name: \"W\" shape: \"[2, 3]\" init { uniform: 0.5 } }\n"
    "let: \"z = x @ W\"\n"
    "output: \"twice = 2 * x, y = z, n = sum(words), inverse = where(on, 1, 0) / sum(x, axis=-1), kept = on\"\n";

class Run : public ProgramTest {
 protected:
  void SetUp() override {
    make_root();
    write("g.pbtxt", kGraph);
  }
  Json json(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"run", "g.pbtxt"});
    const Ran ran = graphrun(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out, nullptr, false);
  }
};

const std::vector<std::string> kFeeds = {"--feed", "x=[[1, 2], [0.1, -4]]", "--feed", "words=[[0, 1], [2, 3], [4, 4]]",
                                         "--feed", "on=[true, 0]"};

TEST_F(Run, PrintsEveryOutputOrThoseThatAreFetched) {
  const Json all = json(kFeeds);
  EXPECT_EQ(all["twice"].dump(), "[[2,4],[0.2,-8]]");
  EXPECT_EQ(all["n"], 14);
  EXPECT_EQ(all["kept"].dump(), "[true,false]");
  EXPECT_EQ(all["y"].size(), 2U);
  EXPECT_EQ(all["y"][0].size(), 3U);
  const Json inner = json({"--feed", "x=[[1, 2]]", "--fetch", "z"});
  EXPECT_EQ(inner.size(), 1U);
  EXPECT_EQ(inner["z"][0], all["y"][0]);  // the same seed
  EXPECT_NE(json({"--feed", "x=[[1, 2]]", "--fetch", "z", "--seed", "2"}), inner);
  const Json ends = json(
      {"--feed", "x=[[0, 0], [1, 1], [\"inf\", null]]", "--feed", "on=[1, 1, 0]", "--fetch", "inverse", "--fetch", "twice"});
  EXPECT_EQ(ends["inverse"].dump(), "[\"inf\",0.5,null]");
  EXPECT_EQ(ends["twice"][2].dump(), "[\"inf\",null]");
}

TEST_F(Run, ReadsFilesAndWritesThem) {
  write("x.txt", "1 2\n0.1 -4\n"), write("w.json", "{\"words\": [[0, 1], [2, 3], [4, 4]], \"other\": [[1, 1]]}"),
      write("on.txt", "1\n0\n");
  const std::vector<std::string> files = {"--feed", "x=@x.txt", "--feed", "words=@w.json", "--feed", "on=@on.txt"};
  EXPECT_EQ(json(files), json(kFeeds));
  EXPECT_EQ(json({"--feed", "words=@w.json:other", "--fetch", "n"})["n"], 2);
  std::vector<std::string> out = files;
  out.insert(out.end(), {"-o", "out.safetensors"});
  out.insert(out.begin(), {"run", "g.pbtxt"});
  const Ran ran = graphrun(out);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  const NamedTensors saved = read_safetensors(path("out.safetensors"));
  EXPECT_EQ(saved.at("y").sizes(), (Sizes{2, 3}));
  EXPECT_EQ(saved.at("n").dtype(), DType::kInt32);
  // The output of one run is fed to another.
  EXPECT_EQ(json({"--feed", "x=@out.safetensors:twice", "--fetch", "twice"})["twice"].dump(), "[[4,8],[0.4,-16]]");
  write_safetensors(path("W.safetensors"), {{"W", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(json({"--feed", "x=[[1, 2]]", "--fetch", "y", "--parameters", "W.safetensors"})["y"].dump(), "[[9,12,15]]");
}

// A trained model on a line of text: the same sum as infer writes.
TEST_F(Run, GivesWhatInferGivesOfAModel) {
  std::filesystem::copy(tests::source_folder() + "/tests/fixtures/older_model", root_,
                        std::filesystem::copy_options::recursive);
  std::istringstream entries(read("model/vocabularies/text.txt"));
  std::map<std::string, int> numbers;
  for (std::string entry; std::getline(entries, entry);) numbers.emplace(entry, static_cast<int>(numbers.size()));
  const auto feed = [&](const std::string& name, const std::vector<std::string>& words) {
    Json column = Json::array();
    for (const std::string& word : words) column.push_back({numbers.at(word)});
    return name + "=" + column.dump();
  };
  const std::vector<std::string> feeds = {
      "--feed", feed("words", {"the", "cat", "sat"}), "--feed", feed("target", {"cat", "sat", "<eos>"}), "--fetch", "nll"};
  const auto sum_of = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), feeds.begin(), feeds.end());
    const Ran ran = graphrun(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    double sum = 0;
    const Json found = Json::parse(ran.out);
    for (const Json& step : found["nll"]) sum += step[0].get<double>();
    return sum;
  };
  const double inferred = std::stod(graphrun({"infer", "model"}, "the cat sat\n").out);
  EXPECT_NEAR(sum_of({"run", "model"}), inferred, 1e-4);
  EXPECT_NEAR(sum_of({"run", "lm.pbtxt", "--set", "vocabulary=" + std::to_string(numbers.size()), "--parameters", "model"}),
              inferred, 1e-4);
}

TEST_F(Run, TellsWhatIsWrongWithWhatItIsGiven) {
  write("bad.txt", "1 2\n1 two\n"), write("bad.json", "{\"x\":\n [[1, 2],\n [1, ]]}"), write("no.json", "{\"a\": 1}");
  const auto expect = [&](const std::string& feed, const std::string& message) {
    const Ran ran = graphrun({"run", "g.pbtxt", "--fetch", "y", "--feed", feed});
    EXPECT_EQ(ran.code, feed.find('=') == std::string::npos ? 2 : 4) << feed << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(message)) << feed;
  };
  expect("x=[[1, 2], [3]]", "[1] has 1 element, the first one at its depth 2");
  expect("x=[[1, 2], 3]", "found 3 at [1], where other rows have a list");
  expect("x=[[1, \"two\"]]", "\"two\" at [0, 1] is not a number");
  expect("x=[[1, 2]", "found the end at character 8 of '[[1, 2]'; expected numbers as JSON");
  expect("x=[1, 2]", "input 'x' is fed the sizes [2]; expected [batch, 2]");
  expect("x=[[1, 2, 3]]", "input 'x' is fed the sizes [1, 3]; expected [batch, 2]");
  expect("x=@bad.txt", "bad.txt:2:3: error[E0655 bad-numbers]: --feed x: 'two' is not a number");
  expect("x=@bad.json", "bad.json:3:6: error[E0655 bad-numbers]");
  expect("x=@no.json", "the object has no 'x'");
  expect("x=@none.txt", "none.txt");
  expect("X=[[1, 2]]", "there is no input 'X' to feed");
  expect("x", "--feed takes NAME=NUMBERS");
  expect("x=" + std::string(100000, '['), "nested more than 1000 deep");
  const Ran none = graphrun({"run", "g.pbtxt"});
  EXPECT_EQ(none.code, 4);
  EXPECT_THAT(none.err, testing::AllOf(HasSubstr("input 'x' is not fed; expected FLOAT[batch, 2]"),
                                       HasSubstr("--feed \"x=[[0, 0], [0, 0]]\""),
                                       HasSubstr("input 'words' is not fed; expected INT32[time, batch]"),
                                       HasSubstr("input 'on' is not fed; expected BOOL[batch]")));
  const Ran range = graphrun({"run", "g.pbtxt", "--fetch", "n", "--feed", "words=[[7]]"});
  EXPECT_THAT(range.err, HasSubstr("input 'words' holds 7 at [0, 0], expected from 0 to 4"));
  const Ran whole = graphrun({"run", "g.pbtxt", "--fetch", "n", "--feed", "words=[[0.5]]"});
  EXPECT_THAT(whole.err, HasSubstr("0.5 at [0, 0] is not a whole number of 32 bits"));
  const Ran twice = graphrun({"run", "g.pbtxt", "--fetch", "y", "--feed", "x=[[1, 2]]", "--feed", "x=[[1, 2]]"});
  EXPECT_THAT(twice.err, HasSubstr("--feed x is given twice"));
}

}  // namespace
}  // namespace graphrun
