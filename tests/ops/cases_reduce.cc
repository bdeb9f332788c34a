#include <limits>

#include "tests/ops/case.h"

namespace graphrun::tests {
namespace {

using Ints = std::vector<std::int64_t>;

// Lengths over [time = 5, batch = 3]: a full row, an empty one, and one in between.
Tensor three_lengths() { return integers({3}, {5, 0, 2}); }

// The cases of every reduction along an axis: the last axis, the first, one in between, all (if `all`), kept axes, lengths for
// each kind of axis, symbols, widths beyond one vector and beyond one strip of columns.
void add_reduction(std::vector<Case>& cases, const std::string& op, Tensor (*operand)(const Sizes&, std::uint64_t), bool all) {
  const auto make = [&](const std::string& name, const Sizes& sizes) { return CaseBuilder(op, name).in(operand(sizes, 3)); };
  if (all) {
    cases.push_back(make("all", {2, 3, 4}));
    cases.push_back(make("all, kept", {2, 3}).with("keep", true));
    cases.push_back(make("of a scalar", {}));
  }
  cases.push_back(make("last axis", {3, 7}).axes({-1}));
  cases.push_back(make("first axis", {5, 3}).axes({0}));
  cases.push_back(make("middle axis", {2, 4, 3}).axes({1}));
  cases.push_back(make("neighboring axes", {2, 3, 2, 2}).axes({2, 1}));
  cases.push_back(make("kept axis", {2, 4, 3}).axes({1}).with("keep", true));
  cases.push_back(make("long row", {2, 37}).axes({1}));
  cases.push_back(make("wide columns", {2, 19}).axes({0}));
  cases.push_back(make("symbols", {4, 3, 2}).axes({0}).shapes({"[time, batch, 2]"}));
  cases.push_back(make("axis of size one", {3, 1, 2}).axes({1}));
  cases.push_back(make("lengths by column", {5, 3}).in(three_lengths()).axes({0}));
  cases.push_back(
      make("lengths by column, features", {5, 3, 2}).in(three_lengths()).axes({0}).shapes({"[time, batch, 2]", "[batch]"}));
  cases.push_back(make("lengths by row", {3, 5}).in(three_lengths()).axes({1}));
  cases.push_back(make("lengths in the middle", {3, 5, 2}).in(three_lengths()).axes({1}));
  cases.push_back(make("lengths, kept axis", {5, 3, 2}).in(three_lengths()).axes({0}).with("keep", true));
  cases.push_back(make("lengths, kept last axis", {3, 5}).in(three_lengths()).axes({-1}).with("keep", true));
  cases.push_back(make("one length for all", {4, 3}).in(integers({}, {2})).axes({0}));
  cases.push_back(make("one length for all, kept", {4, 3}).in(integers({}, {2})).axes({0}).with("keep", true));
  cases.push_back(make("lengths beyond the axis", {2, 3}).in(integers({2}, {9, 2})).axes({1}));
  cases.push_back(make("narrow columns", {4, 9, 9}).axes({1}));
  cases.push_back(make("odd columns", {2, 3, 85}).axes({1}));
  for (const std::int64_t width : {30, 45, 61})
    cases.push_back(make(std::to_string(width) + " columns", {2, 3, width}).axes({1}));
  cases.push_back(make("odd columns, lengths", {2, 3, 85}).in(random_integers({2, 85}, 4)).axes({1}));
  cases.push_back(make("large rows", {300, 211}).axes({1}).large());
  cases.push_back(make("large columns", {70, 701}).axes({0}).large());
  cases.push_back(make("large, lengths", {40, 20, 60}).in(random_integers({20}, 41)).axes({0}).large());
  // On a device, several blocks share a column.
  cases.push_back(make("long rows", {2, 20000}).axes({1}).large());
  cases.push_back(make("long columns, lengths", {3000, 5}).in(integers({5}, {0, 1, 7, 2999, 3000})).axes({0}).large());
}

Tensor any(const Sizes& sizes, std::uint64_t seed) { return uniform(sizes, -1, 1, seed); }
Tensor apart(const Sizes& sizes, std::uint64_t seed) { return distinct(sizes, seed); }

void add_sums(std::vector<Case>& cases) {
  for (const std::string op : {"sum", "mean"}) {
    add_reduction(cases, op, any, true);
    cases.push_back(CaseBuilder(op, "INT32").in(integers({2, 3}, {1, -2, 3, 40, 5, 6})).axes({1}));
    cases.push_back(CaseBuilder(op, "BOOL").in(bools({2, 3}, {1, 0, 1, 0, 0, 1})).axes({0}));
    cases.push_back(
        CaseBuilder(op, "INT32, lengths").in(integers({3, 2}, {1, 2, 3, 4, 5, 6})).in(integers({2}, {2, 0})).axes({0}));
    cases.push_back(CaseBuilder(op, "over nothing").in(uniform({0, 2})).axes({0}));
  }
  for (const std::string op : {"max", "min"}) {
    add_reduction(cases, op, apart, true);
    cases.push_back(CaseBuilder(op, "INT32").in(integers({2, 3}, {1, -2, 3, 40, 5, 6})).axes({1}));
    cases.push_back(CaseBuilder(op, "over nothing").in(uniform({2, 0})).axes({1}));
    cases.push_back(CaseBuilder(op + "_gradient", "equals")
                        .in(floats({2, 3}, {1, 1, 0, 2, 3, 3}))
                        .absent()
                        .in(floats({2}, {5, 7}))
                        .axes({1}));
    cases.push_back(CaseBuilder(op + "_gradient", "equals in columns, lengths")
                        .in(floats({3, 2}, {1, 4, 1, 9, 0, 9}))
                        .in(integers({2}, {2, 0}))
                        .in(floats({2}, {5, 7}))
                        .axes({0}));
    cases.push_back(
        CaseBuilder(op + "_gradient", "large").in(distinct({300, 200})).absent().in(uniform({300})).axes({1}).large());
  }
}

void add_logsumexp(std::vector<Case>& cases) {
  add_reduction(cases, "logsumexp", any, false);
  cases.push_back(CaseBuilder("logsumexp", "far from zero").in(floats({2, 3}, {800, 801, 802, -900, -905, -899})).axes({1}));
}

void add_fused_reduction(std::vector<Case>& cases) {
  const auto make = [](const std::string& name, const Sizes& a, const Sizes& b, const std::string& code) {
    return CaseBuilder("fused_reduction", name).in(uniform(a, -1, 1, 1)).in(uniform(b, -1, 1, 2)).with("code", code);
  };
  const std::string sums = "t0 = add(x0, x1); t1 = exp(t0); t2 = mul(t0, 0.5); return sum(t2), logsumexp(t0), mean(t1)";
  const std::string extremes = "t0 = add(x0, x1); return max(t0), argmax(t0), min(t0), argmin(t0)";
  for (const auto& [what, code] : {std::pair("sums", sums), std::pair("extremes", extremes)}) {
    const std::string of = std::string(", ") + what;
    cases.push_back(make("middle axis" + of, {5, 9, 1}, {9, 9}, code).axes({1}));
    cases.push_back(make("last axis" + of, {5, 9, 1}, {5, 1, 9}, code).axes({2}));
    cases.push_back(make("45 columns" + of, {5, 9, 1}, {9, 45}, code).axes({1}));
    cases.push_back(make("first axis" + of, {6, 7}, {7}, code).axes({0}));
    cases.push_back(make("neighboring axes" + of, {3, 2, 1, 5}, {2, 7, 5}, code)
                        .axes({1, 2})
                        .shapes({"[time, batch, 1, 5]", "[batch, 7, 5]"}));
    cases.push_back(make("all axes" + of, {3, 4}, {3, 1}, code).axes({0, 1}));
    // Slabs larger than a piece, rows larger than a piece, few results of many rows.
    cases.push_back(make("long slabs" + of, {3, 300, 1}, {300, 50}, code).axes({1}).large());
    cases.push_back(make("wide slabs" + of, {6, 9000}, {9000}, code).axes({0}).large());
    cases.push_back(make("long rows" + of, {2, 20000}, {2, 1}, code).axes({1}).large());
    cases.push_back(make("many rows" + of, {3000, 33}, {3000, 1}, code).axes({0}).large());
  }
  cases.push_back(make("over nothing", {0, 3}, {3}, extremes).axes({0}));
  const Tensor list = integers({5}, {2, 2, 0, 1, 1});
  for (const auto& [what, code] : {std::pair("sums", sums), std::pair("extremes", extremes)}) {
    const std::string of = std::string(", rows by number, ") + what;
    const auto by_row = [&, c = code](const std::string& name, const Sizes& a, const Sizes& b, const Tensor& rows,
                                      std::int64_t axis) {
      return make(name + of, a, b, c).in(rows).with("rows", std::vector<std::int64_t>{-1, axis});
    };
    cases.push_back(by_row("first axis", {4, 5, 1}, {4, 3, 40}, list, 1).axes({0}));
    cases.push_back(by_row("first axis of short rows", {4, 5, 1}, {4, 3, 6}, list, 1).axes({0}));
    cases.push_back(by_row("last axis", {5, 70}, {4, 3, 70}, list, 1).axes({2}));
    cases.push_back(by_row("last axis of short rows", {5, 6}, {4, 3, 6}, list, 1).axes({2}));
    cases.push_back(by_row("heads", {5, 2, 32}, {4, 3, 2, 32}, list, 1).axes({3}));
    cases.push_back(by_row("middle axis", {5, 9, 1}, {3, 9, 20}, list, 0).axes({1}));
    cases.push_back(by_row("one number", {4, 1, 1}, {4, 3, 40}, integers({1}, {2}), 1).axes({0}));
    cases.push_back(by_row("one element of all", {4, 5, 40}, {1, 1, 1}, integers({5}, {0, 0, 0, 0, 0}), 1).axes({0}));
    cases.push_back(by_row("one element", {4, 5, 1}, {4, 3, 1}, list, 1).axes({0}));
    cases.push_back(by_row("large", {30, 200, 1}, {30, 50, 301}, random_integers({200}, 50), 1).axes({0}).large());
    cases.push_back(by_row("large, last axis", {200, 301}, {30, 50, 301}, random_integers({200}, 50), 1).axes({2}).large());
    cases.push_back(by_row("lengths", {4, 5, 1}, {4, 3, 40}, list, 1)
                        .in(integers({5}, {4, 0, 2, 1, 3}))
                        .with("lengths", true)
                        .axes({0})
                        .shapes({"[time, rows, 1]", "[time, sentences, 40]", "[rows]", "[rows]"}));
  }
  const auto with_lengths = [&](const std::string& name, const Sizes& a, const Sizes& b, const Tensor& lengths,
                                const std::string& code) { return make(name, a, b, code).in(lengths).with("lengths", true); };
  for (const auto& [what, code] : {std::pair("sums", sums), std::pair("extremes", extremes)}) {
    const std::string of = std::string(", ") + what;
    cases.push_back(with_lengths("lengths by batch" + of, {5, 3, 1}, {5, 3, 9}, three_lengths(), code)
                        .axes({0})
                        .shapes({"[time, batch, 1]", "[time, batch, 9]", "[batch]"}));
    cases.push_back(with_lengths("one length" + of, {5, 3, 1}, {5, 3, 9}, integers({}, {3}), code).axes({0}));
    cases.push_back(with_lengths("no length" + of, {5, 3, 1}, {3, 9}, integers({}, {0}), code).axes({0}));
    cases.push_back(with_lengths("lengths, middle axis" + of, {3, 5, 1}, {5, 20}, three_lengths(), code).axes({1}));
    cases.push_back(with_lengths("one length, last axis" + of, {3, 9}, {9}, integers({}, {4}), code).axes({1}));
    // Groups of columns that are larger than a piece.
    cases.push_back(with_lengths("lengths, wide" + of, {4, 2, 9000}, {9000}, integers({2}, {1, 3}), code).axes({0}).large());
    cases.push_back(
        with_lengths("lengths, long" + of, {300, 20, 1}, {20, 70}, random_integers({20}, 301), code).axes({0}).large());
  }
}

void add_softmax(std::vector<Case>& cases, const std::string& op) {
  const auto make = [&](const std::string& name, const Sizes& sizes) {
    return CaseBuilder(op, name).in(uniform(sizes, -2, 2));
  };
  cases.push_back(make("last axis by default", {3, 5}));
  cases.push_back(make("first axis", {5, 3}).axis(0));
  cases.push_back(make("middle axis", {2, 5, 3}).axis(1).shapes({"[batch, time, 3]"}));
  cases.push_back(make("wide columns", {3, 21}).axis(0));
  cases.push_back(make("lengths by column", {5, 3}).in(three_lengths()).axis(0).shapes({"[time, batch]", "[batch]"}));
  cases.push_back(make("lengths by column, heads", {5, 3, 2}).in(three_lengths()).axis(0));
  cases.push_back(make("lengths by row", {3, 5}).in(three_lengths()));
  cases.push_back(make("one length", {2, 4}).in(integers({}, {3})));
  cases.push_back(CaseBuilder(op, "far from zero").in(floats({2, 3}, {800, 801, 802, -900, -905, -899})));
  cases.push_back(make("large rows", {200, 311}).large());
  cases.push_back(make("large columns", {40, 20, 60}).in(random_integers({20}, 41)).axis(0).large());
  const std::string gradient = op + "_gradient";
  cases.push_back(CaseBuilder(gradient, "rows").in(uniform({3, 5}, -2, 0)).absent().in(uniform({3, 5}, -1, 1, 2)));
  cases.push_back(CaseBuilder(gradient, "lengths by column")
                      .in(uniform({5, 3}, -2, 0))
                      .in(three_lengths())
                      .in(uniform({5, 3}, -1, 1, 2))
                      .axis(0));
  cases.push_back(
      CaseBuilder(gradient, "lengths by row").in(uniform({3, 5}, -2, 0)).in(three_lengths()).in(uniform({3, 5}, -1, 1, 2)));
  cases.push_back(
      CaseBuilder(gradient, "large").in(uniform({200, 311}, -8, -4)).absent().in(uniform({200, 311}, -1, 1, 2)).large());
}

void add_cross_entropy(std::vector<Case>& cases) {
  for (double e : {0.0, 0.1}) {
    const std::string smoothed = e == 0 ? "" : ", smoothed";
    const Tensor target = integers({2, 3}, {0, 4, 2, 1, 1, 3});
    cases.push_back(CaseBuilder("cross_entropy", "rows" + smoothed)
                        .in(uniform({2, 3, 5}, -2, 2))
                        .in(target)
                        .with("label_smoothing", e)
                        .shapes({"[time, batch, 5]", "[time, batch]"}));
    cases.push_back(CaseBuilder("cross_entropy", "one row of many" + smoothed)
                        .in(uniform({41}, -2, 2))
                        .in(integers({}, {40}))
                        .with("label_smoothing", e));
    cases.push_back(CaseBuilder("cross_entropy", "large" + smoothed)
                        .in(uniform({60, 1003}, -4, 4))
                        .in(random_integers({60}, 1003))
                        .with("label_smoothing", e)
                        .large());
    // y must be the op's own result: 2.4076… - 1 for the logits 0, 1, 2 and the class 1, adjusted by smoothing.
    const double y = 2.4076059644443806 - 1;
    cases.push_back(CaseBuilder("cross_entropy_gradient", "rows" + smoothed)
                        .in(floats({2, 3}, {0, 1, 2, 0, 1, 2}))
                        .in(integers({2}, {1, 1}))
                        .in(floats({2}, {y, y}))
                        .in(floats({2}, {3, 0}))
                        .with("label_smoothing", e));
  }
  cases.push_back(CaseBuilder("cross_entropy", "far from zero")
                      .in(floats({2, 3}, {800, 801, 790, -900, -905, -899}))
                      .in(integers({2}, {1, 0})));
}

void add_normalize(std::vector<Case>& cases) {
  cases.push_back(CaseBuilder("normalize", "rows").in(uniform({3, 7})).tolerance(2e-5, 1e-12));
  cases.push_back(CaseBuilder("normalize", "symbols, a wide row")
                      .in(uniform({2, 2, 35}))
                      .with("epsilon", 1e-2)
                      .shapes({"[time, batch, 35]"}));
  cases.push_back(CaseBuilder("normalize", "large").in(uniform({200, 301})).large());
  cases.push_back(
      CaseBuilder("layer_norm", "rows").in(uniform({3, 7})).in(uniform({7}, 0.5, 1.5, 2)).in(uniform({7}, -1, 1, 3)));
  cases.push_back(CaseBuilder("layer_norm", "symbols")
                      .in(uniform({2, 3, 5}))
                      .in(uniform({5}, 0.5, 1.5, 2))
                      .in(uniform({5}, -1, 1, 3))
                      .shapes({"[time, batch, 5]", "[5]", "[5]"}));
  cases.push_back(CaseBuilder("layer_norm", "large").in(uniform({200, 301})).in(uniform({301})).in(uniform({301})).large());
  cases.push_back(CaseBuilder("normalize_gradient", "without gain").in(uniform({3, 7})).absent().in(uniform({3, 7}, -1, 1, 2)));
  cases.push_back(CaseBuilder("normalize_gradient", "with gain")
                      .in(uniform({2, 21}))
                      .in(uniform({21}, 0.5, 1.5, 5))
                      .in(uniform({2, 21}, -1, 1, 2)));
  cases.push_back(
      CaseBuilder("normalize_gradient", "large").in(uniform({500, 81})).absent().in(uniform({500, 81}, -1, 1, 2)).large());
}

void add_sum_to(std::vector<Case>& cases) {
  const auto make = [&](const std::string& name, const Sizes& sizes, const Shape& shape) {
    return CaseBuilder("sum_to", name).in(uniform(sizes)).with("shape", shape);
  };
  const Dim batch = Symbol::named("batch");
  cases.push_back(make("to a scalar", {2, 3}, {}));
  cases.push_back(make("leading axes", {4, 2, 3}, {3}));
  cases.push_back(make("an axis of one", {2, 3}, {2, 1}));
  cases.push_back(make("the same", {2, 3}, {2, 3}));
  cases.push_back(make("apart", {2, 3, 4}, {1, 3, 1}));
  cases.push_back(make("three apart", {2, 3, 4, 3, 2}, {3, 1, 3, 1}));
  cases.push_back(make("an axis of one between", {2, 1, 3, 2}, {1, 1, 1, 2}));
  cases.push_back(make("symbols", {4, 2, 3}, {batch, 1}).shapes({"[time, batch, 3]"}));
  cases.push_back(make("large columns", {100, 611}, {611}).large());
  cases.push_back(make("large, apart", {50, 31, 40}, {1, 31, 1}).large());
}

}  // namespace

void add_reduce_cases(std::vector<Case>& cases) {
  add_sums(cases);
  add_logsumexp(cases);
  add_fused_reduction(cases);
  add_softmax(cases, "softmax");
  add_softmax(cases, "log_softmax");
  add_cross_entropy(cases);
  add_normalize(cases);
  add_sum_to(cases);
  for (const std::string op : {"argmax", "argmin"}) {
    cases.push_back(CaseBuilder(op, "rows").in(distinct({3, 7})).axis(-1));
    cases.push_back(CaseBuilder(op, "equals in rows").in(floats({2, 4}, {1, 3, 3, 1, 0, 0, 0, 0})).axis(1));
    cases.push_back(CaseBuilder(op, "equals in columns").in(floats({3, 2}, {1, 5, 2, 5, 2, 0})).axis(0));
    cases.push_back(CaseBuilder(op, "middle axis, INT32").in(random_integers({2, 5, 3}, 4)).axis(1));
    cases.push_back(CaseBuilder(op, "lengths by column")
                        .in(distinct({5, 3}))
                        .in(three_lengths())
                        .axis(0)
                        .shapes({"[time, batch]", "[batch]"}));
    cases.push_back(CaseBuilder(op, "lengths by row").in(distinct({3, 5})).in(three_lengths()).axis(1));
    for (const std::int64_t width : {30, 45, 61}) {
      cases.push_back(CaseBuilder(op, std::to_string(width) + " columns").in(distinct({2, 3, width})).axis(1));
      cases.push_back(CaseBuilder(op, std::to_string(width) + " columns, lengths")
                          .in(distinct({2, 3, width}))
                          .in(random_integers({2, width}, 4))
                          .axis(1));
    }
    cases.push_back(CaseBuilder(op, "large").in(distinct({200, 301})).axis(1).large());
    cases.push_back(CaseBuilder(op, "large columns").in(distinct({100, 611})).axis(0).large());
  }
}

}  // namespace graphrun::tests
