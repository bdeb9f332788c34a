// graphrun compare: variants of jobs with several seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/tools/program_fixture.h"
#include "tools/runs/compare.h"

namespace graphrun {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST(Compare, WritesTables) {
  ComparedCell a, b;
  a.task = b.task = "seg_ment";
  a.variant = "atr", b.variant = "lstm";
  a.report = b.report = "f1", a.set = b.set = "test";
  a.mean = 0.5, a.deviation = 0.01, a.parameters = 100, a.tokens_per_second = 1234.4;
  a.p_value = b.deviation = std::numeric_limits<double>::quiet_NaN();
  b.mean = 0.625, b.p_value = 0.02, b.parameters = 200, b.tokens_per_second = 1000;
  EXPECT_EQ(comparison_text({a, b}),
            "task      variant  report              score      p  parameters  tokens/s\n"
            "seg_ment  atr      test f1  0.5000 +- 0.0100      –         100      1234\n"
            "seg_ment  lstm     test f1            0.6250  0.020         200      1000\n"
            "p: paired bootstrap against the first variant of the task\n");
  EXPECT_THAT(comparison_latex({a, b}),
              HasSubstr("seg\\_ment & atr & test f1 & 0.5000 $\\pm$ 0.0100 & -- & 100 & 1234 \\\\\n"));
}

class CompareCommand : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
  }
  Ran compare(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"compare",   "graphs/jobs/segment.pbtxt",
                                      "--seeds",   "1,2",
                                      "--out",     "out",
                                      "--vary",    "cell=cells/atr.pbtxt,cells/gru.pbtxt",
                                      "--samples", "50",
                                      "--set",     "train.epochs=2"};
    words.insert(words.end(), more.begin(), more.end());
    return graphrun(words);
  }
};

TEST_F(CompareCommand, ARowForEachVariant) {
  const Ran ran = compare();
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, ContainsRegex("\nsegment +atr +test f1 +[01]\\.[0-9]+ \\+- 0\\.[0-9]+ +– +[0-9]+ +[0-9]+\n"));
  EXPECT_THAT(ran.out, ContainsRegex("\nsegment +gru +test f1 .* [01]\\.[0-9]+ +[0-9]+ +[0-9]+\n"));
  const auto json = nlohmann::json::parse(read("out/compare.json"));
  const auto& cells = json["cells"];
  ASSERT_EQ(cells.size(), 2U);
  // The scores are those that the runs report, and more parameters those of the GRU.
  double mean = 0;
  for (const char* seed : {"seed-1", "seed-2"}) {
    for (const auto& line : json_lines(read(std::string("out/segment/atr/") + seed + "/metrics.jsonl")))
      if (line.contains("test")) mean += line["test"]["f1"].get<double>() / 2;
  }
  EXPECT_NEAR(cells[0]["mean"], mean, 1e-12);
  EXPECT_GT(cells[1]["parameters"], cells[0]["parameters"]);
  EXPECT_GT(cells[1]["p_value"], 0);
  EXPECT_LE(cells[1]["p_value"], 1);
  EXPECT_THAT(read("out/compare.tex"), HasSubstr("\\begin{tabular}"));
  EXPECT_THAT(read("out/compare.html"), HasSubstr("<td>gru</td>"));
}

// What is finished stays, what is not continues, and the table is the same.
TEST_F(CompareCommand, ContinuesAfterAKill) {
  const Ran whole = compare();
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::string starts = read("out/segment/atr/seed-1/starts.jsonl"), json = read("out/compare.json");
  std::filesystem::remove_all(root_ / "out/segment/gru/seed-2");
  std::filesystem::remove(root_ / "out/compare.json");
  const Ran again = compare();
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read("out/segment/atr/seed-1/starts.jsonl"), starts);
  const auto before = nlohmann::json::parse(json), after = nlohmann::json::parse(read("out/compare.json"));
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(before["cells"][c]["scores"], after["cells"][c]["scores"]);
    EXPECT_EQ(before["cells"][c]["p_value"], after["cells"][c]["p_value"]);
  }
}

TEST_F(CompareCommand, Mistakes) {
  const auto refused = [&](const std::vector<std::string>& words, int code, const std::string& text) {
    const Ran ran = graphrun(words);
    EXPECT_EQ(ran.code, code) << text;
    EXPECT_THAT(ran.err, HasSubstr(text));
    EXPECT_FALSE(exists("out"));
  };
  const std::string job = "graphs/jobs/segment.pbtxt";
  refused({"compare", job, "--out", "out"}, 2, "--vary NAME=A,B is missing");
  refused({"compare", job, "--vary", "hidden=8,9"}, 2, "--out DIR is missing");
  refused({"compare", job, "--vary", "hidden", "--out", "out"}, 2, "--vary takes NAME=VALUE,VALUE,…");
  refused({"compare", job, "--vary", "hidden=8,,9", "--out", "out"}, 2, "--vary takes NAME=VALUE,VALUE,…");
  refused({"compare", job, "--vary", "hidden=8,8", "--out", "out"}, 2, "two variants of --vary would be called '8'");
  refused({"compare", job, job, "--vary", "hidden=8,9", "--out", "out"}, 2, "two jobs are called 'segment'");
  refused({"compare", job, "--vary", "train.epoch=1,2", "--out", "out"}, 3, "epoch");
}

}  // namespace
}  // namespace graphrun
