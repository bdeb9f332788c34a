// A size is known from what is fed, even where nothing else of that is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/execute/executable.h"
#include "tests/frontend/graph_file.h"

namespace graphrun {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> feeds_of(const std::string& text) {
  std::vector<std::string> names;
  for (const FeedSpec& feed : compile(load_graph(tests::request_of("name: \"net\"\n" + text))).feeds)
    names.push_back(feed.name);
  return names;
}

const std::string kInputs =
    "input { name: \"a\" shape: \"[time, batch]\" }\ninput { name: \"b\" shape: \"[time]\" }\n"
    "input { name: \"c\" shape: \"[batch]\" }\n";

TEST(UntoldSizes, KeepAnInputThatHasThem) {
  EXPECT_THAT(feeds_of(kInputs + "output: \"y = c / time\"\n"), ElementsAre("c", "a"));
  EXPECT_THAT(feeds_of(kInputs + "output: \"y = c / time, z = b\"\n"), ElementsAre("c", "b"));
}

TEST(UntoldSizes, KeepNothingWhereTheyAreTold) {
  EXPECT_THAT(feeds_of(kInputs + "output: \"y = c / batch\"\n"), ElementsAre("c"));
  EXPECT_THAT(feeds_of(kInputs + "output: \"y = b + sum(zeros(shape=[time]))\"\n"), ElementsAre("b"));
}

TEST(UntoldSizes, AreComputedWith) {
  const std::string text =
      "name: \"net\"\ninput { name: \"x\" shape: \"[batch, 2]\" }\noutput: \"y = full(shape=[batch], value=2)\"\n";
  Executable executable(compile(load_graph(tests::request_of(text))), std::make_shared<Variables>());
  Feeds feeds;
  feeds["x"] = Tensor(DType::kFloat32, {3, 2});
  const std::vector<Tensor> found = executable.run(feeds);
  EXPECT_EQ(str(found[0].sizes()), "[3]");
  EXPECT_EQ(found[0].at(2), 2);
}

// Lengths that are read tell of themselves: they need no sequence that they would be too long for.
TEST(UntoldSizes, LengthsAreReadWithoutWhatTheyAreLengthsOf) {
  const std::string text =
      "name: \"net\"\ninput { name: \"x\" shape: \"[time, batch]\" }\n"
      "input { name: \"lengths\" shape: \"[batch]\" type: INT32 lengths_of: \"time\" }\noutput: \"y = sum(lengths)\"\n";
  Executable executable(compile(load_graph(tests::request_of(text))), std::make_shared<Variables>());
  Feeds feeds;
  feeds["lengths"] = Tensor::of<std::int32_t>({2}, {3, 4});
  EXPECT_EQ(executable.run(feeds)[0].at(0), 7);
}

}  // namespace
}  // namespace graphrun
