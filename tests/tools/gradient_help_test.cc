// The output of `graphrun help --gradients`: the rule of every operator, as its gradient is built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "compiler/ir/builder.h"
#include "tools/cli/program.h"
#include "tools/commands/commands.h"
#include "tools/help/expression_text.h"
#include "tools/help/gradient_rules.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

std::string rule_of(const std::string& op) {
  const GradientRuleText text = gradient_rule(ir::OpRegistry::instance().get(op));
  return text.use + ": " + text.rule;
}

TEST(GradientRules, AreThoseThatTheOperatorsBuild) {
  for (const auto& [op, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"tanh", "tanh(x): dx = g * (1 - y * y)"},
           {"div", "div(a, b): da = g / b; db = -g * y / b"},
           {"pow", "pow(a, b): da = where(b == 0, 0, g * b * a ** (b - 1)); db = where(a > 0, g * y * log(a), 0)"},
           {"where", "where(condition, a, b): da = where(condition, g, 0); db = where(condition, 0, g)"},
           {"dropout", "dropout(x [n], rate=0.5, key='k'): dx = dropout(g, rate=0.5, key='k')"},
           {"sign", "sign: no gradient: the result is constant almost everywhere"},
           {"matmul", "matmul(a [m, k], b [k, n]): da = matmul(g, b, transpose_b=true); db = matmul_reduce(a, g)"},
           {"cumsum", "cumsum(x [m, n], axis=0): dx = cumsum(g, axis=0, reverse=true)"},
           {"mean", "mean(x [m, n], axis=1): dx = broadcast_to(expand(g / n, axis=1), shape=[m, n])"},
           {"max", "max(x [m, n], axis=1): dx = where(range(n=n) == expand(argmax(x, axis=1), axis=1), expand(g, axis=1), 0)"},
           {"gather", "gather(table [n, m], indices [k]): dtable = scatter_add(indices, g, rows=n)"},
           {"layer_norm",
            "layer_norm(x [m, n], gain [n], bias [n]): dx = normalize_gradient(x, gain, g); "
            "dgain = sum_to(g * normalize(x), shape=[n]); dbias = sum_to(g, shape=[n])"},
           {"topk", "topk(x [m, 9], k=3): dx = scatter_last(indices, g_values, size=9)"},
           {"scan", "scan: the gradient is a scan in the other direction, whose body is the gradient of this one's"}}) {
    EXPECT_EQ(rule_of(op), expected);
  }
}

TEST(GradientRules, HaveALineForEveryOperatorAndNoneOfTheCompilersOwn) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_help({"--gradients"}), ExitCode::kDone);
  std::fflush(stdout);
  const std::string all = testing::internal::GetCapturedStdout(), rules = all.substr(0, all.find("\ninternal operators used"));
  for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
    if (op->family == "test") continue;
    const bool is_there =
        rules.find("\n  " + op->name + "(") != std::string::npos || rules.find("\n  " + op->name + " ") != std::string::npos;
    EXPECT_EQ(is_there, !op->internal || op->name == "scan") << op->name;
    if (op->internal || op->name == "scan") continue;
    const GradientRuleText rule = gradient_rule(*op);
    EXPECT_EQ(rule.rule == "no gradient: " + op->no_gradient, op->gradient == nullptr) << op->name;
    EXPECT_EQ(rule.rule.starts_with("d"), op->gradient != nullptr) << op->name;
    for (const ir::OpSchema* own : rule.internal) EXPECT_THAT(all, HasSubstr("\n  " + own->name + "(")) << op->name;
  }
  EXPECT_THROW(run_help({"tanh", "--gradients"}), UsageError);
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    EXPECT_LE(columns, 100) << line;
  }
}

TEST(GradientRules, EndAnOperatorsPage) {
  const auto section = [](const char* op) { return gradient_section(ir::OpRegistry::instance().get(op)); };
  EXPECT_EQ(section("tanh"),
            "gradient (g: the gradient of the result)\n  tanh(x)                             dx = g * (1 - y * y)\n");
  EXPECT_EQ(section("sign"), "gradient: none: the result is constant almost everywhere\n");
  EXPECT_THAT(section("topk"), HasSubstr("\ninternal operators used\n  scatter_last(i, values, size=)\n"));
  EXPECT_EQ(section("softmax_gradient").find("dx ="), std::string::npos);
}

// Parentheses appear only where the language needs them; a value that is read twice gets a name.
TEST(ExpressionTexts, SayWhatTheyMean) {
  ir::Graph graph;
  ir::Builder b(graph);
  std::map<ir::ValueId, std::string> names;
  std::vector<std::pair<std::string, ir::ValueId>> values;
  for (const char* name : {"a", "b", "c"}) {
    values.emplace_back(name, b.input(name, {Type::kFloat, {}}));
    names[values.back().second] = name;
  }
  for (const char* text : {"a - (b - c)", "a - b - c", "(a + b) * c", "-(a + b)", "(-a) ** 2", "-a ** b", "(a ** b) ** c",
                           "a ** b ** c", "a / (b * c)", "where(a < b and not b == c, a, 0.5)", "a * -b"}) {
    EXPECT_EQ(ExpressionText(graph, names).of({{"y", b.equation(text, values)}}), std::string("y = ") + text);
  }
  const ir::ValueId shared = b.op("tanh", {values[0].second});
  const ir::ValueId twice = b.op("mul", {shared, b.op("sub", {b.constant(1), shared})});
  EXPECT_EQ(ExpressionText(graph, names).of({{"y", twice}}), "y = t1 * (1 - t1), where t1 = tanh(a)");
  EXPECT_EQ(ExpressionText(graph, names).of({{"y", b.op("sub", {b.cast(b.dim(*Dim::parse("n+1")), Type::kFloat), shared})}}),
            "y = n+1 - tanh(a)");
  // BOOL with BOOL stays BOOL: the language inserts no cast.
  const ir::ValueId less = b.op("lt", {values[0].second, values[1].second});
  const ir::ValueId number = b.cast(less, Type::kFloat);
  EXPECT_EQ(ExpressionText(graph, names).of({{"y", number}}), "y = cast(a < b, type='FLOAT')");
  EXPECT_EQ(ExpressionText(graph, names).of({{"y", b.op("add", {number, b.cast(b.op("not", {less}), Type::kFloat)})}}),
            "y = cast(t1, type='FLOAT') + cast(not t1, type='FLOAT'), where t1 = a < b");
  EXPECT_EQ(ExpressionText(graph, names).of({{"y", b.op("mul", {number, values[2].second})}}), "y = (a < b) * c");
}

}  // namespace
}  // namespace graphrun
