#include <limits>

#include "tests/ops/case.h"

namespace graphrun::tests {
namespace {

const Dim kTime = Symbol::named("time");

// Rows 0 to 4 up to index 2100, then rows 3 to 9: on a device, a block looks at 2048 indices at a time.
Tensor indices_in_pieces() {
  std::vector<std::int32_t> indices;
  for (std::int32_t k = 0; k < 2600; ++k) indices.push_back(k < 2100 ? k % 5 : 3 + k % 7);
  return integers({2600}, indices);
}

void add_rows(std::vector<Case>& cases) {
  cases.push_back(CaseBuilder("gather", "rows").in(uniform({4, 3})).in(integers({2, 2}, {3, 0, 3, 1})));
  cases.push_back(CaseBuilder("gather", "one row").in(uniform({4, 2, 2})).in(integers({}, {2})));
  cases.push_back(CaseBuilder("gather", "elements, INT32").in(random_integers({5}, 9)).in(integers({3}, {4, 4, 0})));
  cases.push_back(CaseBuilder("gather", "BOOL").in(bools({3}, {1, 0, 1})).in(integers({2}, {1, 2})));
  cases.push_back(CaseBuilder("gather", "symbols")
                      .in(uniform({5, 2}))
                      .in(integers({2, 3}, {0, 1, 4, 2, 2, 2}))
                      .shapes({"[vocabulary, 2]", "[time, batch]"}));
  cases.push_back(CaseBuilder("gather", "large").in(uniform({50, 301})).in(random_integers({200}, 50)).large());
  cases.push_back(CaseBuilder("select_rows", "of the first axis").in(uniform({4, 3})).in(integers({2}, {3, 0})).axis(0));
  cases.push_back(
      CaseBuilder("select_rows", "of the last axis").in(uniform({2, 4})).in(integers({5}, {3, 0, 3, 1, 1})).axis(-1));
  cases.push_back(CaseBuilder("select_rows", "INT32 elements, symbols")
                      .in(random_integers({2, 3, 2}, 9))
                      .in(integers({4}, {1, 1, 0, 2}))
                      .axis(1)
                      .shapes({"[time, batch, 2]", "[rows]"}));
  cases.push_back(CaseBuilder("select_rows", "large").in(uniform({20, 30, 41})).in(random_integers({200}, 30)).axis(1).large());
  cases.push_back(CaseBuilder("scatter_add", "equal indices")
                      .in(integers({2, 2}, {3, 0, 3, 1}))
                      .in(uniform({2, 2, 3}))
                      .with("rows", Dim(4)));
  cases.push_back(CaseBuilder("scatter_add", "one row").in(integers({}, {1})).in(uniform({3})).with("rows", Dim(2)));
  cases.push_back(CaseBuilder("scatter_add", "INT32 elements, symbols")
                      .in(integers({4}, {1, 1, 0, 1}))
                      .in(integers({4}, {5, 6, 7, 8}))
                      .with("rows", Dim(3))
                      .shapes({"[n]", "[n]"}));
  cases.push_back(
      CaseBuilder("scatter_add", "large").in(random_integers({300}, 40)).in(uniform({300, 201})).with("rows", Dim(40)).large());
  cases.push_back(
      CaseBuilder("scatter_add", "many indices").in(indices_in_pieces()).in(uniform({2600, 3})).with("rows", Dim(12)).large());
  cases.push_back(CaseBuilder("put", "FLOAT").in(uniform({4, 3})).in(uniform({3}, -1, 1, 2)).in(integers({}, {2})));
  cases.push_back(
      CaseBuilder("put", "INT32 elements").in(integers({3}, {1, 2, 3})).in(integers({}, {9})).in(integers({}, {0})));
  cases.push_back(CaseBuilder("put", "symbols")
                      .in(uniform({3, 2, 2}))
                      .in(uniform({2, 2}, -1, 1, 2))
                      .in(integers({}, {2}))
                      .shapes({"[time, batch, 2]", "[batch, 2]", "[]"}));
}

void add_elements(std::vector<Case>& cases) {
  cases.push_back(CaseBuilder("pick", "FLOAT")
                      .in(uniform({2, 3, 4}))
                      .in(integers({2, 3}, {3, 0, 1, 1, 2, 0}))
                      .shapes({"[time, batch, 4]", "[time, batch]"}));
  cases.push_back(CaseBuilder("pick", "INT32").in(random_integers({3, 4}, 9)).in(integers({3}, {3, 0, 1})));
  cases.push_back(CaseBuilder("pick", "of one row").in(uniform({4})).in(integers({}, {2})));
  cases.push_back(
      CaseBuilder("scatter_last", "one each").in(integers({2, 1}, {3, 0})).in(uniform({2, 1})).with("size", Dim(4)));
  cases.push_back(
      CaseBuilder("scatter_last", "two each").in(integers({2, 2}, {3, 0, 1, 2})).in(uniform({2, 2})).with("size", Dim(5)));
  cases.push_back(CaseBuilder("scatter_last", "large")
                      .in(random_integers({400, 1}, 101))
                      .in(uniform({400, 1}))
                      .with("size", Dim(101))
                      .large());
  cases.push_back(CaseBuilder("one_hot", "rows").in(integers({2, 2}, {0, 2, 1, 1})).with("depth", Dim(3)));
  cases.push_back(CaseBuilder("one_hot", "one").in(integers({}, {1})).with("depth", Dim(3)));
  cases.push_back(CaseBuilder("pick", "large").in(uniform({300, 200})).in(random_integers({300}, 200)).large());
  cases.push_back(CaseBuilder("one_hot", "large").in(random_integers({500}, 90)).with("depth", Dim(90)).large());
  cases.push_back(CaseBuilder("topk", "FLOAT").in(distinct({3, 7})).with("k", std::int64_t{3}));
  cases.push_back(CaseBuilder("topk", "all of them").in(distinct({2, 4})).with("k", std::int64_t{4}));
  cases.push_back(
      CaseBuilder("topk", "equals, INT32").in(integers({2, 5}, {1, 3, 3, 2, 3, 0, 0, 0, 0, 0})).with("k", std::int64_t{2}));
  cases.push_back(CaseBuilder("topk", "large").in(distinct({200, 301})).with("k", std::int64_t{10}).large());
  cases.push_back(CaseBuilder("topk", "many of them").in(distinct({5, 301})).with("k", std::int64_t{100}).large());
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  cases.push_back(CaseBuilder("topk", "what is not a number")
                      .in(floats({2, 5}, {no_number, 3, 1, no_number, 2, 4, no_number, no_number, 5, 4}))
                      .with("k", std::int64_t{3})
                      .not_differenced(0));
}

void add_parts(std::vector<Case>& cases) {
  const auto slice = [&](const std::string& name, Tensor x, std::int64_t axis, const Dim& begin, const Dim& end) {
    return CaseBuilder("slice", name).in(std::move(x)).axis(axis).with("begin", begin).with("end", end);
  };
  cases.push_back(slice("first axis", uniform({5, 3}), 0, 1, 4));
  cases.push_back(slice("last axis", uniform({2, 5}), -1, 0, 3));
  cases.push_back(slice("middle axis, from the end", uniform({2, 5, 2}), 1, -3, -1));
  cases.push_back(slice("symbols", uniform({4, 3}), 0, 1, kTime).shapes({"[time, batch]"}));
  cases.push_back(slice("INT32", random_integers({5}, 9), 0, 2, 5));
  cases.push_back(slice("BOOL, nothing", bools({2, 3}, {1, 0, 1, 1, 1, 0}), 1, 1, 1));
  cases.push_back(slice("large", uniform({400, 210}), 1, 5, 205).large());
  const auto index = [&](const std::string& name, Tensor x, std::int64_t axis, const Dim& at) {
    return CaseBuilder("index", name).in(std::move(x)).axis(axis).with("at", at);
  };
  cases.push_back(index("first axis", uniform({4, 3}), 0, 2));
  cases.push_back(index("last of the last axis", uniform({2, 3}), -1, -1));
  cases.push_back(index("middle axis", uniform({2, 3, 2}), 1, 1));
  cases.push_back(index("symbols", uniform({4, 3}), 0, kTime - 1).shapes({"[time, batch]"}));
  cases.push_back(index("INT32", random_integers({5}, 9), 0, 3));
  cases.push_back(index("large", uniform({500, 3, 101}), 1, 1).large());
  const auto pad = [&](const std::string& name, Tensor x, std::int64_t axis, const Dim& begin, const Dim& size) {
    return CaseBuilder("pad", name).in(std::move(x)).axis(axis).with("begin", begin).with("size", size);
  };
  cases.push_back(pad("first axis", uniform({2, 3}), 0, 1, 4));
  cases.push_back(pad("last axis", uniform({2, 3}), -1, 0, 5));
  cases.push_back(pad("between zeros", uniform({3, 4}), -1, 2, 10));
  cases.push_back(pad("middle axis", uniform({2, 3, 2}), 1, 3, 9));
  cases.push_back(pad("BOOL, nothing", bools({2, 0}, {}), 1, 2, 4));
  cases.push_back(pad("symbols", uniform({3, 2}), 0, 1, kTime + 1).shapes({"[time, batch]"}));
  cases.push_back(pad("large", uniform({500, 100}), 1, 5, 120).large());
}

void add_padding(std::vector<Case>& cases) {
  const Tensor lengths = integers({3}, {5, 0, 2});
  for (const std::string op : {"mask", "last"}) {
    cases.push_back(
        CaseBuilder(op, "time, batch").in(uniform({5, 3})).in(lengths).axis(0).shapes({"[time, batch]", "[batch]"}));
    cases.push_back(CaseBuilder(op, "features").in(uniform({5, 3, 2})).in(lengths).axis(0));
    cases.push_back(CaseBuilder(op, "batch first").in(uniform({3, 5, 2})).in(lengths).axis(1));
    cases.push_back(
        CaseBuilder(op, "a length for each element").in(uniform({2, 2, 3})).in(integers({2, 2}, {3, 1, 0, 2})).axis(2));
    cases.push_back(CaseBuilder(op, "one length").in(uniform({4, 3})).in(integers({}, {2})).axis(0));
    cases.push_back(CaseBuilder(op, "lengths beyond the axis").in(uniform({2, 2})).in(integers({2}, {7, 1})).axis(0));
    cases.push_back(CaseBuilder(op, "INT32").in(random_integers({5, 3}, 9)).in(lengths).axis(0));
    cases.push_back(CaseBuilder(op, "large").in(uniform({50, 20, 60})).in(random_integers({20}, 51)).axis(0).large());
  }
  cases.push_back(CaseBuilder("mask", "BOOL").in(bools({2, 2}, {1, 1, 1, 1})).in(integers({2}, {2, 1})).axis(0));
  cases.push_back(CaseBuilder("last_gradient", "features").in(uniform({3, 2})).in(lengths).axis(0).with("size", Dim(5)));
  cases.push_back(CaseBuilder("last_gradient", "batch first").in(uniform({3, 2})).in(lengths).axis(1).with("size", Dim(5)));
  cases.push_back(CaseBuilder("last_gradient", "large")
                      .in(uniform({20, 60}))
                      .in(random_integers({20}, 51))
                      .axis(0)
                      .with("size", Dim(50))
                      .large());
  cases.push_back(CaseBuilder("sequence_mask", "time, batch").in(lengths).with("n", Dim(5)));
  cases.push_back(CaseBuilder("sequence_mask", "batch, time").in(lengths).with("n", Dim(4)).axis(-1));
}

void add_running_sums(std::vector<Case>& cases) {
  const Tensor lengths = integers({3}, {5, 0, 2});
  for (const bool reverse : {false, true}) {
    const auto make = [&](const std::string& name, Tensor x, std::int64_t axis) {
      return CaseBuilder("cumsum", name + (reverse ? ", reverse" : "")).in(std::move(x)).axis(axis).with("reverse", reverse);
    };
    cases.push_back(make("last axis", uniform({3, 7}), -1));
    cases.push_back(make("first axis", uniform({5, 3}), 0).shapes({"[time, batch]"}));
    cases.push_back(make("middle axis", uniform({2, 4, 3}), 1));
    cases.push_back(make("one element", uniform({1}), 0));
    cases.push_back(make("time, batch", uniform({5, 3}), 0).in(lengths).shapes({"[time, batch]", "[batch]"}));
    cases.push_back(make("features", uniform({5, 3, 2}), 0).in(lengths));
    cases.push_back(make("batch first", uniform({3, 5}), 1).in(lengths));
    cases.push_back(make("lengths beyond the axis", uniform({2, 2}), 0).in(integers({2}, {7, 1})));
    cases.push_back(make("INT32", integers({2, 3}, {5, -7, 2, 1, 1, 1}), 1));
    cases.push_back(make("BOOL, counted", bools({2, 4}, {1, 0, 1, 1, 0, 0, 0, 1}), 1));
    cases.push_back(make("large, last axis", uniform({40, 1500}), 1).large());
    cases.push_back(make("large, first axis", uniform({700, 150}), 0).large());
    cases.push_back(make("large, padded", uniform({60, 20, 70}), 0).in(random_integers({20}, 61)).large());
  }
}

}  // namespace

void add_index_cases(std::vector<Case>& cases) {
  add_rows(cases);
  add_elements(cases);
  add_parts(cases);
  add_padding(cases);
  add_running_sums(cases);
}

}  // namespace graphrun::tests
