#include <string>

#include "tests/ops/case.h"

namespace graphrun::tests {
namespace {

// The range in which each function is defined and smooth: finite differences need room around every operand.
struct Domain {
  double low, high;
};

Domain domain_of(const std::string& op) {
  if (op == "log" || op == "sqrt" || op == "rsqrt" || op == "pow" || op == "div" || op == "log1p") return {0.5, 2};
  if (op == "abs" || op == "sign" || op == "relu" || op == "floor") return {0.05, 0.95};  // and its negation, see below
  return {-2, 2};
}

// On both sides of 0, never 0 itself.
Tensor both_signs(const Sizes& sizes, const Domain& d, std::uint64_t seed) {
  Tensor t = uniform(sizes, d.low, d.high, seed);
  if (d.low == 0.05) {
    for (std::int64_t i = 1; i < t.count(); i += 2) t.data<double>()[i] *= -1;
  }
  return t;
}

void add_unary(std::vector<Case>& cases, const std::string& op) {
  const Domain d = domain_of(op);
  const bool flat = op == "sign" || op == "floor";
  const auto make = [&](const std::string& name, const Sizes& sizes) {
    CaseBuilder c(op, name);
    c.in(both_signs(sizes, d, 1));
    if (flat) c.zero_gradient(0);
    return c;
  };
  cases.push_back(make("elements", {3, 7}));
  cases.push_back(make("a scalar", {}));
  cases.push_back(make("symbols", {2, 3, 5}).shapes({"[time, batch, 5]"}));
  cases.push_back(make("large", {200, 301}).large());
}

void add_binary(std::vector<Case>& cases, const std::string& op) {
  const Domain d = domain_of(op);
  const auto make = [&](const std::string& name, const Sizes& a, const Sizes& b) {
    return CaseBuilder(op, name).in(uniform(a, d.low, d.high, 1)).in(uniform(b, d.low, d.high, 2));
  };
  cases.push_back(make("elements", {3, 7}, {3, 7}));
  cases.push_back(make("a row", {3, 7}, {7}));
  cases.push_back(make("a column", {3, 1}, {3, 7}));
  cases.push_back(make("both stretched", {3, 1}, {1, 5}));
  cases.push_back(make("a scalar", {}, {2, 3}));
  cases.push_back(make("symbols", {4, 2, 3}, {2, 1}).shapes({"[time, batch, 3]", "[batch, 1]"}));
  cases.push_back(make("large", {200, 301}, {301}).large());
  if (op != "div" && op != "pow") {
    cases.push_back(CaseBuilder(op, "INT32").in(random_integers({2, 5}, 4)).in(random_integers({5}, 4, 2)));
  }
  if (op != "pow")
    cases.push_back(CaseBuilder(op, "INT32 with FLOAT").in(integers({3}, {1, 2, -1})).in(uniform({2, 3}, 0.5, 2)));
}

}  // namespace

void add_pointwise_cases(std::vector<Case>& cases) {
  for (const char* op : {"neg", "abs", "sign", "square", "floor", "exp", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "erf",
                         "sigmoid", "tanh", "relu", "softplus", "gelu"}) {
    add_unary(cases, op);
  }
  for (const char* op : {"add", "sub", "mul", "div", "minimum", "maximum", "pow", "eq", "ne", "lt", "le", "gt", "ge"}) {
    add_binary(cases, op);
  }
  const Tensor some = bools({2, 3}, {1, 0, 1, 1, 0, 0}), row = bools({3}, {1, 0, 0});
  for (const char* op : {"and", "or"}) cases.push_back(CaseBuilder(op, "elements and a row").in(some).in(row));
  cases.push_back(CaseBuilder("not", "elements").in(some));
  cases.push_back(CaseBuilder("where", "elements").in(some).in(uniform({2, 3})).in(uniform({2, 3}, -1, 1, 2)));
  cases.push_back(CaseBuilder("where", "everything stretched").in(row).in(uniform({2, 1})).in(uniform({4, 1, 1}, -1, 1, 2)));
  cases.push_back(CaseBuilder("where", "INT32").in(some).in(random_integers({2, 3}, 9)).in(random_integers({}, 9, 2)));
  cases.push_back(CaseBuilder("cast", "FLOAT to INT32")
                      .in(floats({4}, {1.7, -1.7, 0.2, 5}))
                      .zero_gradient(0)
                      .with("type", std::string("INT32")));
  cases.push_back(
      CaseBuilder("cast", "FLOAT to BOOL").in(floats({3}, {0, -0.5, 2})).zero_gradient(0).with("type", std::string("BOOL")));
  cases.push_back(CaseBuilder("cast", "INT32 to FLOAT").in(integers({2, 2}, {1, -2, 3, 0})).with("type", std::string("FLOAT")));
  cases.push_back(CaseBuilder("cast", "BOOL to FLOAT").in(some).with("type", std::string("FLOAT")));
  cases.push_back(CaseBuilder("cast", "BOOL to INT32").in(some).with("type", std::string("INT32")));
  cases.push_back(CaseBuilder("cast", "FLOAT to FLOAT").in(uniform({5})).with("type", std::string("FLOAT")));
  const std::string chain = "t0 = add(x0, x1); t1 = tanh(t0); t2 = mul(t1, 0.5); return t2";
  cases.push_back(CaseBuilder("fused", "a chain").in(uniform({3, 7})).in(uniform({7}, -1, 1, 2)).with("code", chain));
  cases.push_back(CaseBuilder("fused", "large").in(uniform({200, 301})).in(uniform({200, 1})).with("code", chain).large());
  // Operands that are read by row number; the rows are short, long, and the last axis but for one of size 1.
  const auto by_row = [&](const std::string& name, const Sizes& whole, const Sizes& table, const Tensor& list,
                          std::int64_t axis) {
    return CaseBuilder("fused", name)
        .in(uniform(whole))
        .in(uniform(table, -1, 1, 2))
        .in(list)
        .with("code", chain)
        .with("rows", std::vector<std::int64_t>{-1, axis});
  };
  const Tensor five = integers({5}, {2, 2, 0, 1, 1});
  cases.push_back(by_row("short rows by number", {4, 5, 7}, {4, 3, 7}, five, 1));
  cases.push_back(by_row("rows by number", {4, 5, 70}, {4, 3, 70}, five, 1));
  cases.push_back(by_row("rows by number of the first axis", {5, 33}, {3, 33}, five, 0));
  cases.push_back(by_row("one row by number", {5, 33}, {1, 33}, integers({5}, {0, 0, 0, 0, 0}), 0));
  cases.push_back(by_row("one element by number", {5, 33}, {1, 1}, integers({5}, {0, 0, 0, 0, 0}), 0));
  cases.push_back(by_row("one number", {2, 1, 33}, {2, 4, 33}, integers({1}, {2}), 1));
  cases.push_back(by_row("rows by number in reverse", {2, 3, 64}, {2, 3, 64}, integers({3}, {2, 1, 0}), 1));
  cases.push_back(by_row("rows of one element by number", {4, 5, 1}, {4, 3, 1}, five, 1));
  cases.push_back(by_row("rows by number within axes", {4, 5, 2, 40}, {3, 2, 1}, five, 0));
  cases.push_back(by_row("rows by number, symbols", {4, 5, 7}, {4, 3, 7}, five, 1)
                      .shapes({"[time, rows, 7]", "[time, sentences, 7]", "[rows]"}));
  cases.push_back(by_row("large, rows by number", {20, 200, 301}, {20, 50, 301}, random_integers({200}, 50), 1).large());
  cases.push_back(CaseBuilder("fused", "results of several types")
                      .in(uniform({2, 3}))
                      .in(random_integers({2, 1}, 4))
                      .shapes({"[batch, 3]", "[batch, 1]"})
                      .with("code", std::string("t0 = cast(x0, INT32); t1 = lt(t0, x1); t2 = where(t1, x0, 2.0); "
                                                "t3 = neg(t2); return t3, t1, t0")));
}

void add_constant_cases(std::vector<Case>& cases) {
  cases.push_back(CaseBuilder("constant", "FLOAT").with("value", 2.5));
  cases.push_back(CaseBuilder("constant", "INT32").with("value", 3.0).with("type", std::string("INT32")));
  cases.push_back(CaseBuilder("constant", "BOOL").with("value", 1.0).with("type", std::string("BOOL")));
  cases.push_back(CaseBuilder("zeros", "FLOAT").with("shape", Shape{2, 3}));
  cases.push_back(CaseBuilder("zeros", "BOOL").with("shape", Shape{3}).with("type", std::string("BOOL")));
  cases.push_back(CaseBuilder("full", "FLOAT").with("shape", Shape{2, 3}).with("value", -1.5));
  cases.push_back(CaseBuilder("full", "INT32").with("shape", Shape{}).with("value", 7.0).with("type", std::string("INT32")));
  cases.push_back(CaseBuilder("dim", "a number").with("size", Dim(12)));
  cases.push_back(CaseBuilder("range", "a number").with("n", Dim(5)));
  cases.push_back(CaseBuilder("full", "large").with("shape", Shape{300, 301}).with("value", 0.5).large());
}

}  // namespace graphrun::tests
