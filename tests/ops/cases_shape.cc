#include "tests/ops/case.h"

namespace graphrun::tests {
namespace {

const Dim kSteps = Symbol::named("time"), kBatch = Symbol::named("batch");

void add_joins(std::vector<Case>& cases) {
  cases.push_back(CaseBuilder("concat", "last axis")
                      .in(uniform({2, 3}))
                      .in(uniform({2, 2}, -1, 1, 2))
                      .in(uniform({2, 1}, -1, 1, 3))
                      .axis(-1));
  cases.push_back(CaseBuilder("concat", "first axis").in(uniform({2, 3})).in(uniform({1, 3}, -1, 1, 2)).axis(0));
  cases.push_back(CaseBuilder("concat", "one").in(uniform({2, 3})).axis(0));
  cases.push_back(CaseBuilder("concat", "INT32").in(random_integers({2}, 9)).in(random_integers({3}, 9)).axis(0));
  cases.push_back(CaseBuilder("concat", "symbols")
                      .in(uniform({4, 2, 3}))
                      .in(uniform({4, 2, 2}, -1, 1, 2))
                      .axis(-1)
                      .shapes({"[time, batch, 3]", "[time, batch, 2]"}));
  cases.push_back(CaseBuilder("concat", "along a symbol")
                      .in(uniform({4, 2}))
                      .in(uniform({1, 2}, -1, 1, 2))
                      .axis(0)
                      .shapes({"[time, batch]", "[1, batch]"}));
  cases.push_back(CaseBuilder("concat", "an empty one").in(uniform({2, 0})).in(uniform({2, 2})).axis(1));
  cases.push_back(CaseBuilder("concat", "large").in(uniform({300, 101})).in(uniform({300, 99}, -1, 1, 2)).axis(1).large());
  CaseBuilder many("concat", "many, some empty");
  for (std::uint64_t k = 0; k < 19; ++k) many.in(uniform({2, static_cast<std::int64_t>(k % 4), 3}, -1, 1, k + 1));
  cases.push_back(many.axis(1));
  cases.push_back(CaseBuilder("concat", "an empty last one")
                      .in(uniform({2, 2}))
                      .in(uniform({2, 1}))
                      .in(uniform({2, 0}))
                      .axis(1)
                      .zero_gradient(2));
  cases.push_back(CaseBuilder("stack", "new first axis")
                      .in(uniform({2, 3}))
                      .in(uniform({2, 3}, -1, 1, 2))
                      .shapes({"[batch, 3]", "[batch, 3]"}));
  cases.push_back(CaseBuilder("stack", "new last axis")
                      .in(uniform({2, 3}))
                      .in(uniform({2, 3}, -1, 1, 2))
                      .in(uniform({2, 3}, -1, 1, 3))
                      .axis(-1));
  cases.push_back(CaseBuilder("stack", "scalars, INT32").in(integers({}, {4})).in(integers({}, {5})));
  cases.push_back(CaseBuilder("stack", "large").in(uniform({300, 101})).in(uniform({300, 101}, -1, 1, 2)).axis(1).large());
  cases.push_back(CaseBuilder("split", "last axis").in(uniform({2, 6})).with("parts", std::int64_t{3}));
  cases.push_back(CaseBuilder("split", "first axis, a symbol")
                      .in(uniform({4, 3}))
                      .with("parts", std::int64_t{1})
                      .axis(0)
                      .shapes({"[time, 3]"}));
  cases.push_back(CaseBuilder("split", "middle axis").in(uniform({2, 4, 3})).with("parts", std::int64_t{2}).axis(1));
  cases.push_back(CaseBuilder("split", "many").in(uniform({2, 17, 3})).with("parts", std::int64_t{17}).axis(1));
  cases.push_back(CaseBuilder("split", "large").in(uniform({300, 200})).with("parts", std::int64_t{2}).large());
}

void add_orders(std::vector<Case>& cases) {
  using Ints = std::vector<std::int64_t>;
  const auto make = [&](const std::string& name, const Sizes& sizes, const Ints& permutation) {
    return CaseBuilder("transpose", name).in(uniform(sizes)).with("permutation", permutation);
  };
  cases.push_back(make("matrix", {3, 5}, {}));
  cases.push_back(make("last two", {2, 3, 4}, {}));
  cases.push_back(make("first two", {2, 3, 4}, {1, 0, 2}));
  cases.push_back(make("turned", {2, 3, 4}, {2, 0, 1}));
  cases.push_back(make("from the end", {2, 3, 4}, {-1, 0, 1}));
  cases.push_back(make("four axes", {2, 3, 2, 4}, {2, 0, 3, 1}));
  cases.push_back(make("heads", {2, 3, 2, 2}, {0, 2, 1, 3}).shapes({"[time, batch, 2, 2]"}));
  cases.push_back(make("nothing changes", {2, 3}, {0, 1}));
  cases.push_back(make("axes of one", {1, 3, 1, 2}, {3, 2, 1, 0}));
  cases.push_back(CaseBuilder("transpose", "INT32").in(random_integers({2, 3}, 9)));
  cases.push_back(CaseBuilder("transpose", "BOOL").in(bools({2, 2}, {1, 0, 0, 0})));
  cases.push_back(make("large", {301, 207}, {}).large());
  cases.push_back(make("large, many planes", {40, 30, 50}, {2, 0, 1}).large());
}

void add_views(std::vector<Case>& cases) {
  cases.push_back(CaseBuilder("reshape", "numbers").in(uniform({2, 6})).with("shape", Shape{3, 4}));
  cases.push_back(CaseBuilder("reshape", "to a scalar").in(uniform({1, 1})).with("shape", Shape{}));
  cases.push_back(CaseBuilder("reshape", "symbols")
                      .in(uniform({3, 2, 4}))
                      .with("shape", Shape{kSteps * kBatch, 2, 2})
                      .shapes({"[time, batch, 4]"}));
  cases.push_back(CaseBuilder("reshape", "INT32").in(random_integers({4}, 9)).with("shape", Shape{2, 2}));
  cases.push_back(CaseBuilder("expand", "last").in(uniform({2, 3})).axis(-1));
  cases.push_back(CaseBuilder("expand", "first").in(uniform({2, 3})).axis(0).shapes({"[batch, 3]"}));
  cases.push_back(CaseBuilder("expand", "a scalar").in(uniform({})).axis(0));
  cases.push_back(CaseBuilder("stop_gradient", "numbers").in(uniform({2, 3})));
  cases.push_back(CaseBuilder("stop_gradient", "symbols, INT32").in(random_integers({2, 3}, 9)).shapes({"[time, batch]"}));
  const auto make = [&](const std::string& name, Tensor x, const Shape& shape) {
    return CaseBuilder("broadcast_to", name).in(std::move(x)).with("shape", shape);
  };
  cases.push_back(make("a scalar", uniform({}), {2, 3}));
  cases.push_back(make("new axes", uniform({3}), {2, 2, 3}));
  cases.push_back(make("last axis", uniform({2, 1}), {2, 3}));
  cases.push_back(make("middle axis", uniform({2, 1, 3}), {2, 2, 3}));
  cases.push_back(make("apart", uniform({1, 3, 1}), {2, 3, 2}));
  cases.push_back(make("the same", uniform({2, 3}), {2, 3}));
  cases.push_back(make("INT32", random_integers({2}, 9), {3, 2}));
  cases.push_back(make("symbols", uniform({2, 1}), {5, kBatch, 3}).shapes({"[batch, 1]"}));
  cases.push_back(make("large", uniform({30, 1, 50}), {30, 40, 50}).large());
}

}  // namespace

void add_shape_cases(std::vector<Case>& cases) {
  add_joins(cases);
  add_orders(cases);
  add_views(cases);
}

}  // namespace graphrun::tests
