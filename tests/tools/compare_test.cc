// graphrun compare: variants of jobs with several seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <regex>

#include "tests/tools/program_fixture.h"
#include "tools/runs/compare.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
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
  EXPECT_EQ(comparison_text({a, b}, comparison_note(3, 1000)),
            "task      variant  report              score      p  parameters  tokens/s\n"
            "seg_ment  atr      test f1  0.5000 +- 0.0100      –         100      1234\n"
            "seg_ment  lstm     test f1            0.6250  0.020         200      1000\n"
            "score: the mean of 3 seeds and the standard deviation over them. p: the p-value of the difference from the first "
            "variant of the task (paired bootstrap with 1000 samples, which can show no smaller one than 0.001).\n");
  EXPECT_THAT(comparison_latex({a, b}, "note"),
              HasSubstr("seg\\_ment & atr & test f1 & 0.5000 $\\pm$ 0.0100 & -- & 100 & 1234 \\\\\n"));
}

TEST(Compare, TellsRunsThatDivergedFromReportsThatAreNotNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ComparedCell a, b;
  a.scores = b.scores = {nan, nan};
  a.mean = b.mean = a.p_value = b.p_value = nan;
  a.diverged = 2, b.diverged = 1;
  EXPECT_THAT(comparison_text({a}, ""), HasSubstr("diverged  –"));
  EXPECT_THAT(comparison_text({b}, ""), HasSubstr("nan  –"));
}

class CompareCommand : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_segmenter();
  }
  // `fault`: see ProgramTest::graphrun_under.
  Ran compare(const std::string& out = "out", const std::string& fault = "") const {
    return graphrun_under(
        fault, {"compare", "graphs/jobs/segment.pbtxt", "--seeds", "1,2", "--out", out, "--vary",
                "cell=cells/atr.pbtxt,cells/gru.pbtxt", "--samples", "50", "--set", "train.epochs=2", "--threads", "1"});
  }
  // Of a job with only this report, which selects its model: two sizes, one seed, one epoch.
  Ran compare_report(const std::string& report) const {
    return graphrun({"compare", "graphs/jobs/segment.pbtxt", "--seeds", "1", "--out", "out", "--vary", "hidden=8,9",
                     "--samples", "50", "--set", "report=" + report, "--set", "train.validate.keep_highest=c", "--set",
                     "train.epochs=1", "--threads", "1"});
  }
  // What a run has computed, without clocks: by file.
  std::map<std::string, std::string> left_in(const std::string& run) const {
    std::map<std::string, std::string> files;
    if (!exists(run)) return files;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / run)) {
      const std::string name = fs::relative(entry.path(), root_ / run).string(), file = entry.path().filename().string();
      if (!entry.is_regular_file() || file == "starts.jsonl" || file == "speed.jsonl" || file == "train.log" ||
          file == "run.lock")
        continue;
      files[name] = read(run + "/" + name);
    }
    return files;
  }
  // Whether a run's newest checkpoint is its last.
  bool is_finished(const std::string& run) const {
    std::string newest;
    if (exists(run + "/checkpoints")) {
      for (const auto& entry : fs::directory_iterator(root_ / run / "checkpoints"))
        newest = std::max(newest, entry.path().string());
    }
    const fs::path state = fs::path(newest) / "state.json";
    return !newest.empty() && fs::exists(state) &&
           nlohmann::json::parse(read(fs::relative(state, root_).string()))["finished"] == true;
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

// A sample of the set has the groups of its examples, so it has a score, and the scores of the samples vary.
TEST_F(CompareCommand, AGroupedCorrelation) {
  const Ran ran = compare_report("c = correlation(read.forward.i, read.forward.f, lengths=lengths) by length(lengths, 5)");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto cells = nlohmann::json::parse(read("out/compare.json"))["cells"];
  EXPECT_NE(cells[0]["mean"], cells[1]["mean"]);
  EXPECT_GT(cells[1]["p_value"], 0.05) << ran.out;  // of two untrained models; the smallest is 1/51
}

// A run that ended as it should has not diverged, even if its report is not a number.
TEST_F(CompareCommand, AReportThatIsNotANumber) {
  const Ran ran = compare_report("c = log(0 - count(rows))");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, ContainsRegex("\nsegment +8 +test c +nan +– +[0-9]+ +[1-9][0-9]*\n"));
  EXPECT_THAT(ran.out, ContainsRegex("\nsegment +9 +test c +nan +– +[0-9]+ +[1-9][0-9]*\n"));
  const auto cell = nlohmann::json::parse(read("out/compare.json"))["cells"][1];
  EXPECT_EQ(cell["diverged"], 0);
  EXPECT_TRUE(cell["p_value"].is_null());
}

// What is finished stays, and the table is the same.
TEST_F(CompareCommand, TrainsWhatIsMissing) {
  const Ran whole = compare();
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::string starts = read("out/segment/atr/seed-1/starts.jsonl"), json = read("out/compare.json");
  fs::remove_all(root_ / "out/segment/gru/seed-2");
  fs::remove(root_ / "out/compare.json");
  const Ran again = compare();
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read("out/segment/atr/seed-1/starts.jsonl"), starts);
  const auto before = nlohmann::json::parse(json), after = nlohmann::json::parse(read("out/compare.json"));
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(before["cells"][c]["scores"], after["cells"][c]["scores"]);
    EXPECT_EQ(before["cells"][c]["p_value"], after["cells"][c]["p_value"]);
  }
}

// Within a save of each run, between runs, and while the tables are written. A complete run is not started again; the others
// continue where they were.
TEST_F(CompareCommand, ContinuesAfterKills) {
  const Ran whole = compare("whole");
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::vector<std::string> runs = {"atr/seed-1", "atr/seed-2", "gru/seed-1", "gru/seed-2"};
  std::map<std::string, std::string> starts;  // of complete runs
  const auto note = [&] {
    for (const std::string& run : runs) {
      if (is_finished("parts/segment/" + run)) starts.emplace(run, read("parts/segment/" + run + "/starts.jsonl"));
    }
  };
  const auto expect_untouched = [&] {
    for (const auto& [run, text] : starts) EXPECT_EQ(read("parts/segment/" + run + "/starts.jsonl"), text) << run;
  };
  for (const char* fault :
       {"kill:atr/seed-1/checkpoints/:9", "kill:atr/seed-1/metrics.jsonl:2", "kill:atr/seed-2/manifest.json:1",
        "kill:atr/seed-2/best/:4", "kill:atr/seed-2/checkpoints/:30", "kill:gru/seed-1:1", "kill:gru/seed-1/speed.jsonl:2",
        "kill:gru/seed-2/checkpoints/:12+1500", "kill:compare.txt:1", "kill:compare.tex:1", "kill:compare.json:2"}) {
    SCOPED_TRACE(fault);
    const Ran ran = compare("parts", fault);
    ASSERT_EQ(ran.code, 128 + SIGKILL) << ran.err;
    EXPECT_EQ(ran.out, "");
    expect_untouched();
    note();
  }
  EXPECT_EQ(starts.size(), 4U);
  const Ran last = compare("parts");
  ASSERT_EQ(last.code, 0) << last.err;
  expect_untouched();
  for (const std::string& run : runs) EXPECT_EQ(left_in("parts/segment/" + run), left_in("whole/segment/" + run)) << run;
  // The tables differ in the speed only.
  const auto without_speed = [](const std::string& text) { return std::regex_replace(text, std::regex(" +[0-9]+\n"), "\n"); };
  EXPECT_EQ(without_speed(last.out), without_speed(whole.out));
  EXPECT_THAT(last.out, testing::Not(testing::StrEq(without_speed(last.out))));
  const auto table = [&](const std::string& out) {
    auto json = nlohmann::json::parse(read(out + "/compare.json"));
    for (auto& cell : json["cells"]) {
      EXPECT_GT(cell["tokens_per_second"], 0);
      cell.erase("tokens_per_second");
    }
    return json;
  };
  EXPECT_EQ(table("parts"), table("whole"));
  EXPECT_EQ(without_speed(read("parts/compare.txt")), without_speed(read("whole/compare.txt")));
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
  refused({"compare", job, "--vary", "cell=cells/gru.pbtxt,cells/none.pbtxt", "--out", "out"}, 3,
          "note: with cell=cells/none.pbtxt");
  refused({"compare", job, "--vary", "train.epoch=1,2", "--out", "out"}, 3, "epoch");
}

}  // namespace
}  // namespace graphrun
