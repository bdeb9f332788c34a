// Pointwise programs as people read them.
#include "compiler/dump/statements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphrun {
namespace {

using testing::ElementsAre;

// The statements of a program whose instructions come from these lines of a file.
std::vector<std::string> statements(const std::string& program, const std::vector<int>& lines,
                                    const std::vector<std::string>& results) {
  const ir::PointwiseProgram code = ir::parse_program(program);
  std::vector<Origin> origins;
  for (std::size_t i = 0; i < lines.size(); ++i)
    origins.push_back({"cell.v" + std::to_string(i), {intern_file("cell.pbtxt"), lines[i], 1, 1, nullptr}});
  const Statements all(code, origins, {"x", "y"}, {}, results);
  std::vector<std::string> text;
  for (const Statement& s : all.all())
    text.push_back((s.new_line == nullptr ? "" : std::to_string(s.new_line->line) + ": ") + s.text);
  return text;
}

TEST(Statements, ContainWhatTheyAloneReadOfOneEquation) {
  EXPECT_THAT(
      statements("t0 = sub(x0, x1); t1 = sigmoid(t0); t2 = mul(t1, x0); t3 = add(t2, t1); return t3", {3, 3, 4, 4}, {"h"}),
      ElementsAre("3: v1 = sigmoid(x - y)", "4: h = v1 * x + v1"));
}

TEST(Statements, NameWhatAnotherEquationReads) {
  EXPECT_THAT(statements("t0 = sub(x0, x1); t1 = neg(t0); return t1", {3, 4}, {"h"}),
              ElementsAre("3: v0 = x - y", "4: h = -v0"));
}

TEST(Statements, HaveParenthesesWhereThePrecedenceNeedsThem) {
  EXPECT_THAT(statements("t0 = sub(x0, x1); t1 = sub(x0, t0); t2 = mul(t1, t1); return t2", {3, 3, 3}, {"h"}),
              ElementsAre("3: v1 = x - (x - y)", "h = v1 * v1"));
  EXPECT_THAT(statements("t0 = add(x0, x1); t1 = mul(t0, 2.0); return t1", {3, 3}, {"h"}), ElementsAre("3: h = (x + y) * 2"));
}

TEST(Statements, AreNumberedWhereTheirEquationsAreUnknown) {
  EXPECT_THAT(statements("t0 = sub(x0, x1); t1 = exp(t0); return t1", {}, {"h"}), ElementsAre("t0 = x - y", "h = exp(t0)"));
}

TEST(Statements, LeaveWhatIsReducedToItsReduction) {
  const ir::PointwiseProgram code = ir::parse_program("t0 = mul(x0, x1); return t0");
  const std::vector<Origin> unknown;
  const Statements all(code, unknown, {"x", "y"}, {}, {});
  EXPECT_TRUE(all.all().empty());
  EXPECT_EQ(all.result(0), "x * y");
}

TEST(Statements, TellWhatADrawIsMadeFrom) {
  EXPECT_THAT(statements("t0 = dropout(x0, 0.5, \"words#0\"); return t0", {3}, {"h"}),
              ElementsAre("3: h = dropout(x, rate=0.5, key='words#0')"));
}

}  // namespace
}  // namespace graphrun
