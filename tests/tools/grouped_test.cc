// Reports over groups: mean(x) by tags, by position, by length(n, 10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tools/program_fixture.h"
#include "tools/report/report.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Report grouped(const std::string& text) {
  std::vector<Diagnostic> problems;
  Report report(ir::parse_grouped_bindings(ir::SourceText(text)), problems);
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, problems);
  return report;
}

std::vector<std::pair<std::string, std::vector<double>>> rows_of(const Report& report) {
  return report.details().at(0).second.at(0).rows;
}

// x is [time 2, batch 2, hidden 2]; row 1 has one step.
BatchValues two_steps() {
  return {{{"x", Tensor::of<float>({2, 2, 2}, {1, 3, 10, 20, 5, 7, 99, 99})},
           {"y", Tensor::of<float>({2, 2, 2}, {2, 6, 20, 40, 10, 14, 99, 99})},
           {"tags", Tensor::of<int>({2, 2}, {4, 4, 1, 0})},
           {"kind", Tensor::of<int>({2}, {8, 6})},
           {"n", Tensor::of<int>({2}, {2, 1})}},
          2};
}

TEST(Grouped, ByTheEntriesOfAFeed) {
  Report report = grouped("gate = mean(x, lengths=n) by tags, other = mean(x)");
  report.add(two_steps());
  EXPECT_DOUBLE_EQ(report.result("gate"), 46.0 / 6);
  EXPECT_EQ(report.details().at(0).first, "gate");
  const Table table = report.details().at(0).second.at(0);
  EXPECT_EQ(table.title, "by tags");
  EXPECT_THAT(table.columns, ElementsAre("count", "mean", "deviation"));
  const double deviation = std::sqrt((1 + 9 + 100 + 400) / 4.0 - 8.5 * 8.5);
  EXPECT_THAT(table.rows, ElementsAre(Pair("1", ElementsAre(2, 6, 1)),
                                      Pair("4", ElementsAre(4, 8.5, testing::DoubleNear(deviation, 1e-12)))));
}

TEST(Grouped, ByPositionByRowAndByLength) {
  Report report =
      grouped("a = sum(x, lengths=n) by position, b = mean(x, lengths=n) by kind, c = mean(x, lengths=n) by length(n, 2)");
  report.add(two_steps());
  EXPECT_EQ(report.result("a"), 46);
  const auto all = report.details();
  EXPECT_THAT(all.at(0).second.at(0).rows, ElementsAre(Pair("1", ElementsAre(4, 34)), Pair("2", ElementsAre(2, 12))));
  EXPECT_THAT(all.at(1).second.at(0).rows,
              ElementsAre(Pair("6", ElementsAre(2, 15, 5)), Pair("8", ElementsAre(4, 4, testing::_))));
  EXPECT_THAT(all.at(2).second.at(0).rows,
              ElementsAre(Pair("0-1", ElementsAre(2, 15, 5)), Pair("2-3", ElementsAre(4, 4, testing::_))));
}

// The headline of a grouped correlation is that of the groups' means, as in ATR's Figure 3.
TEST(Grouped, Correlations) {
  Report report = grouped(
      "each = correlation(x, y, lengths=n) by position, whole = correlation(x, -y, lengths=n), d = deviation(x, lengths=n)");
  report.add(two_steps());
  EXPECT_NEAR(report.result("each"), 1, 1e-12);
  EXPECT_NEAR(report.result("whole"), -1, 1e-12);
  EXPECT_NEAR(report.result("d"), std::sqrt((1 + 9 + 100 + 400 + 25 + 49) / 6.0 - 46.0 * 46 / 36), 1e-12);
  EXPECT_THAT(rows_of(report), ElementsAre(Pair("1", ElementsAre(4, 8.5, 17, testing::DoubleNear(1, 1e-12))),
                                           Pair("2", ElementsAre(2, 6, 12, testing::DoubleNear(1, 1e-12)))));
}

TEST(Grouped, SumsContinueFromAState) {
  const std::string text = "a = mean(x, lengths=n) by tags, b = correlation(x, y) by kind, c = deviation(x)";
  Report whole = grouped(text), part = grouped(text), rest = grouped(text);
  whole.add(two_steps());
  whole.add(two_steps());
  part.add(two_steps());
  rest.restore(nlohmann::json::parse(part.state().dump()));
  rest.add(two_steps());
  EXPECT_EQ(whole.results(), rest.results());
  EXPECT_EQ(whole.state(), rest.state());
}

// States of parts of a set are added by their keys, so a key names its group, whichever other groups the part has.
TEST(Grouped, AStateNamesItsGroups) {
  Report report = grouped("a = correlation(x, y, lengths=n) by tags");
  report.add(two_steps());
  const nlohmann::json state = report.state();
  EXPECT_EQ(state["/a/groups/1/count"_json_pointer], 2);
  EXPECT_EQ(state["/a/groups/4/count"_json_pointer], 4);
  nlohmann::json more = state;
  more["/a/groups/7"_json_pointer] = grouped("a = correlation(x, y)").state()["/a/0"_json_pointer];  // without elements
  Report again = grouped("a = correlation(x, y, lengths=n) by tags");
  again.restore(more);
  EXPECT_EQ(again.state(), state);
}

// Of text, by what is known of its example: Writings tells the group.
TEST(Grouped, ScoresOfText) {
  const std::string text = "b = bleu(german, translate) by length(english, 2), w = wer(german, translate) by kind";
  Report report = grouped(text);
  report.text("b")->add_text("ein alter Hund bellt", "ein alter Hund bellt", {1, "2-3"});
  report.text("b")->add_text("eine ganz andere Katze", "eine sehr kleine Katze", {0, "0-1"});
  report.text("b")->add_text("der Hund bellt laut", "der Hund bellt laut", {1, "2-3"});
  report.text("w")->add_text("a b", "a c", {5, "news"});
  const auto all = report.details();
  const Table& bleu = all.at(0).second.at(1);
  EXPECT_EQ(bleu.title, "by length(english, 2)");
  EXPECT_THAT(bleu.columns, ElementsAre("count", "BLEU"));
  ASSERT_EQ(bleu.rows.size(), 2u);
  EXPECT_EQ(bleu.rows[0].first, "0-1");
  EXPECT_LT(bleu.rows[0].second[1], 30);
  EXPECT_THAT(bleu.rows[1], Pair("2-3", ElementsAre(2, testing::DoubleNear(100, 1e-9))));
  EXPECT_THAT(all.at(1).second.at(1).rows, ElementsAre(Pair("news", ElementsAre(1, 50))));
  Report other = grouped(text);
  other.restore(nlohmann::json::parse(report.state().dump()));
  EXPECT_EQ(other.state(), report.state());
}

TEST(Grouped, Mistakes) {
  const auto refused = [](const std::string& text, const std::string& message) {
    try {
      grouped(text).add(two_steps());
      ADD_FAILURE() << text;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr("E0414 bad-report"));
      EXPECT_THAT(error.what(), HasSubstr(message)) << text;
    }
  };
  refused("a = accuracy(tags, tags) by tags", "only mean(x), sum(x), deviation(x) and correlation(x, y) have groups");
  refused("a = mean(x) by length(n)", "expected length(FEED, N)");
  refused("a = mean(x) by length(n, 0.5)", "a whole number from 1");
  refused("a = mean(x) by length(tags, 2)", "'tags' is int32 [2, 2]; expected lengths, INT32 [batch]");
  refused("a = mean(x) by y", "'y' is float32 [2, 2, 2]; expected entries or whole numbers, INT32");
  refused("a = mean(n) by position", "'n' is [2]; it has no axis of positions");
  refused("a = mean(n) by tags", "expected its leading axes, or the batch");
  refused("a = bleu(german, translate) by position", "a line of text has no positions");
  refused("a = correlation(x) by tags", "correlation takes two values, 1 are given");
  refused("a = mean(x, by=tags) by tags", "mean has no 'by'; expected lengths=NAME");
}

class GroupedReports : public ProgramTest {};

// A report may read any value of the graph, not only its outputs.
TEST_F(GroupedReports, AreLinesOfAJob) {
  write_segmenter();
  const std::string line =
      "report=loss = sum(margin) / count(rows), gate = mean(read.forward.i, lengths=lengths) by tags, both = "
      "correlation(read.forward.i, read.forward.f, lengths=lengths) by position, right = mean(path == tags, lengths=lengths) "
      "by "
      "length(lengths, 5), f1 = segmentation(tags, path, lengths=lengths)";
  const Ran trained =
      graphrun({"train", "graphs/jobs/segment.pbtxt", "--out", "model", "--set", "train.epochs=1", "--set", line});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ran ran = graphrun({"evaluate", "model", "--details", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_GT(json["gate"], 0.1);
  EXPECT_LT(json["gate"], 0.9);
  const auto& gate = json["details"]["gate"][0];
  EXPECT_EQ(gate["title"], "by tags");
  double count = 0, sum = 0;
  for (const char* tag : {"B", "M", "E", "S"}) {
    const auto& row = gate["rows"][tag];
    count += row[0].get<double>();
    sum += row[0].get<double>() * row[1].get<double>();
  }
  EXPECT_NEAR(sum / count, json["gate"], 1e-9);
  EXPECT_EQ(json["details"]["both"][0]["columns"], nlohmann::json({"count", "mean", "mean of second", "correlation"}));
  EXPECT_TRUE(json["details"]["right"][0]["rows"].contains("0-4"));
  const Ran mistaken = graphrun({"check", "graphs/jobs/segment.pbtxt", "--set", "report=f1 = mean(read.forwrd.i) by tags"});
  EXPECT_EQ(mistaken.code, 3);
  EXPECT_THAT(mistaken.err, HasSubstr("E0412 unknown-name"));
  const Ran entries = graphrun({"check", "graphs/jobs/segment.pbtxt", "--set", "report=f1 = mean(path) by length(words, 10)"});
  EXPECT_EQ(entries.code, 3);
  EXPECT_THAT(entries.err, HasSubstr("'words' has entries; expected a feed of lengths"));
}

// An output of a call that nothing reads is computed if it is fetched. A mistake in it is reported then, and only then.
TEST_F(GroupedReports, FetchedValuesNeedNoReader) {
  write("part.pbtxt",
        "name: \"part\"\ninput { name: \"x\" shape: \"[n]\" }\noutput: \"y = x * 2, z = x + 1, bad = x @ tanh(x, 3)\"\n");
  write("whole.pbtxt",
        "name: \"whole\"\nimport: \"part = part.pbtxt\"\ninput { name: \"x\" shape: \"[n]\" }\n"
        "call { name: \"inner\" graph: \"part\" input: \"x\" }\noutput: \"y = inner.y\"\n");
  const auto fetch = [&](const std::string& name) {
    return graphrun({"run", "whole.pbtxt", "--feed", "x=[1, 2]", "--fetch", name});
  };
  const Ran unread = fetch("inner.z");
  ASSERT_EQ(unread.code, 0) << unread.err;
  EXPECT_EQ(nlohmann::json::parse(unread.out)["inner.z"], nlohmann::json({2, 3}));
  EXPECT_EQ(fetch("y").code, 0);
  EXPECT_EQ(fetch("inner.bad").code, 3);
  EXPECT_THAT(fetch("inner.w").err, HasSubstr("E0403 unknown-fetch"));
}

}  // namespace
}  // namespace graphrun
