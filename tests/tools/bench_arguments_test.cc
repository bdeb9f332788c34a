// The benchmarks' command lines: no option and no case is ignored.
#include "tests/bench/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kUsage =
    "bench_x [--pairs N] [--peer 'python3 peer.py'] [--profile]\n"
    "        [--forward | --int8] [--precision tf32|bfloat16] [CELL TIME …]\n\n--other N: no option, this is prose.\n";

std::string refused(const std::vector<std::string>& words) {
  try {
    const BenchArguments arguments(kUsage, words);
    arguments.number("--pairs", 1);
    arguments.groups(2);
    arguments.chosen({"atr", "gru", "5"});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(BenchArguments, AreThoseOfTheUsage) {
  const BenchArguments arguments(kUsage, {"--pairs", "3", "atr", "--int8", "5", "--precision", "tf32"});
  EXPECT_EQ(arguments.number("--pairs", 7), 3);
  EXPECT_TRUE(arguments.has("--int8"));
  EXPECT_FALSE(arguments.has("--profile"));
  EXPECT_EQ(arguments.value("--precision", "float32"), "tf32");
  EXPECT_EQ(arguments.value("--peer", "none"), "none");
  EXPECT_THAT(arguments.rest(), ElementsAre("atr", "5"));
  EXPECT_EQ(arguments.groups(2)[0].second, (std::vector<std::int64_t>{5}));
  EXPECT_THAT(arguments.chosen({"atr", "gru", "5"}), ElementsAre("5", "atr"));
  EXPECT_THAT(BenchArguments(kUsage, {}).chosen({"gru", "atr"}), ElementsAre("atr", "gru"));
  EXPECT_TRUE(BenchArguments(kUsage, {"--help"}).has("--help"));
}

TEST(BenchArguments, AWordThatIsNoCaseChoosesAFamily) {
  const std::vector<std::string> cases = {"ptb_atr", "ptb_gru", "ptb_gru_int8", "ptbx", "crf"};
  const auto chosen = [&](const std::vector<std::string>& words) { return BenchArguments(kUsage, words).chosen(cases); };
  EXPECT_THAT(chosen({"ptb"}), ElementsAre("ptb_atr", "ptb_gru", "ptb_gru_int8"));
  EXPECT_THAT(chosen({"ptb_gru"}), ElementsAre("ptb_gru"));
  EXPECT_THAT(chosen({"ptb_gru", "crf", "ptb"}), ElementsAre("crf", "ptb_atr", "ptb_gru", "ptb_gru_int8"));
  EXPECT_THROW(chosen({"crf", "pt"}), UsageError);
  EXPECT_THROW(chosen({"ptb_"}), UsageError);
}

TEST(BenchArguments, RefuseWhatTheUsageLacks) {
  EXPECT_EQ(refused({"--pairs", "3", "atr", "5"}), "");
  EXPECT_THAT(refused({"--pair", "3"}), HasSubstr("there is no option '--pair'; did you mean '--pairs' or '--peer'?"));
  EXPECT_THAT(refused({"--other", "3"}), HasSubstr("there is no option '--other'"));
  EXPECT_THAT(refused({"--pairs"}), HasSubstr("--pairs needs a value"));
  EXPECT_THAT(refused({"--pairs", "few"}), HasSubstr("--pairs takes a whole number from 0, found 'few'"));
  EXPECT_THAT(refused({"art", "5"}), HasSubstr("there is no case 'art'; did you mean 'atr'? there are atr"));
  EXPECT_THAT(refused({"atr"}), HasSubstr("a case has 2 words, found 1 in all"));
  EXPECT_THAT(refused({"atr", "x"}), HasSubstr("a size of atr takes a whole number from 0, found 'x'"));
}

}  // namespace
}  // namespace graphrun
