// Matrix products, random draws, and the ops of optimizers.
#include <limits>
#include <string>

#include "tests/ops/case.h"

namespace graphrun::tests {
namespace {

void add_products(std::vector<Case>& cases) {
  const auto make = [&](const std::string& name, const Sizes& a, const Sizes& b) {
    return CaseBuilder("matmul", name).in(uniform(a)).in(uniform(b, -1, 1, 2));
  };
  cases.push_back(make("matrices", {3, 4}, {4, 5}));
  cases.push_back(make("one matrix for all rows", {2, 3, 4}, {4, 5}).shapes({"[time, batch, 4]", "[4, 5]"}));
  cases.push_back(make("batched", {2, 3, 4}, {2, 4, 5}).shapes({"[batch, 3, 4]", "[batch, 4, 5]"}));
  cases.push_back(make("broadcast over the batch", {1, 3, 4}, {2, 4, 5}));
  cases.push_back(make("two batch axes", {2, 1, 3, 4}, {2, 2, 4, 3}));
  cases.push_back(make("row by matrix", {4}, {4, 5}));
  cases.push_back(make("matrix by column", {3, 4}, {4}));
  cases.push_back(make("row by column", {4}, {4}));
  cases.push_back(make("row by batch", {4}, {2, 4, 3}));
  cases.push_back(make("batch by column", {2, 3, 4}, {4}));
  cases.push_back(make("transposed a", {4, 3}, {4, 5}).with("transpose_a", true));
  cases.push_back(make("transposed b", {3, 4}, {5, 4}).with("transpose_b", true));
  cases.push_back(make("both transposed", {4, 3}, {5, 4}).with("transpose_a", true).with("transpose_b", true));
  cases.push_back(make("rows by a transposed matrix", {2, 3, 4}, {5, 4}).with("transpose_b", true));
  cases.push_back(make("batched, both transposed", {2, 4, 3}, {2, 5, 4}).with("transpose_a", true).with("transpose_b", true));
  cases.push_back(make("transposed a by one matrix", {2, 4, 3}, {4, 5}).with("transpose_a", true));
  cases.push_back(make("large", {80, 70}, {70, 60}).large());
  cases.push_back(CaseBuilder("matmul_reduce", "two leading axes").in(uniform({2, 3, 4})).in(uniform({2, 3, 5}, -1, 1, 2)));
  cases.push_back(CaseBuilder("matmul_reduce", "symbols")
                      .in(uniform({3, 2}))
                      .in(uniform({3, 4}, -1, 1, 2))
                      .shapes({"[batch, 2]", "[batch, 4]"}));
  cases.push_back(CaseBuilder("matmul_reduce", "large").in(uniform({20, 5, 60})).in(uniform({20, 5, 70}, -1, 1, 2)).large());
}

void add_merged_products(std::vector<Case>& cases) {
  cases.push_back(CaseBuilder("matmul_many", "two matrices, symbols")
                      .in(uniform({2, 3, 4}))
                      .in(uniform({4, 5}, -1, 1, 2))
                      .in(uniform({4, 5}, -1, 1, 3))
                      .shapes({"[time, batch, 4]", "[4, 5]", "[4, 5]"}));
  cases.push_back(CaseBuilder("matmul_many", "transposed")
                      .in(uniform({3, 4}))
                      .in(uniform({5, 4}, -1, 1, 2))
                      .in(uniform({5, 4}, -1, 1, 3))
                      .with("transpose_b", true));
  cases.push_back(
      CaseBuilder("matmul_many", "large").in(uniform({90, 70})).in(uniform({70, 60}, -1, 1, 2)).in(uniform({70, 60})).large());
  cases.push_back(CaseBuilder("gather_matmul", "two matrices, symbols")
                      .in(uniform({5, 4}))
                      .in(integers({2, 3}, {0, 4, 4, 1, 0, 2}))
                      .absent()
                      .in(uniform({4, 6}, -1, 1, 2))
                      .in(uniform({4, 6}, -1, 1, 3))
                      .shapes({"[vocabulary, 4]", "[time, batch]", "", "[4, 6]", "[4, 6]"}));
  cases.push_back(CaseBuilder("gather_matmul", "transposed, some rows")
                      .in(uniform({5, 4}))
                      .in(integers({3}, {1, 1, 3}))
                      .in(bools({3}, {1, 0, 1}))
                      .in(uniform({6, 4}, -1, 1, 2))
                      .with("transpose_b", true));
  cases.push_back(CaseBuilder("gather_matmul", "large")
                      .in(uniform({50, 70}))
                      .in(random_integers({90}, 50))
                      .absent()
                      .in(uniform({70, 60}, -1, 1, 2))
                      .in(uniform({70, 60}))
                      .large());
  cases.push_back(CaseBuilder("matmul_reduce_many", "two leading axes")
                      .in(uniform({2, 3, 4}))
                      .in(uniform({2, 3, 5}, -1, 1, 2))
                      .in(uniform({2, 3, 5}, -1, 1, 3)));
  cases.push_back(CaseBuilder("matmul_reduce_many", "large")
                      .in(uniform({20, 5, 60}))
                      .in(uniform({20, 5, 70}, -1, 1, 2))
                      .in(uniform({20, 5, 70}))
                      .large());
  cases.push_back(CaseBuilder("matmul_sum", "other inner sizes")
                      .in(uniform({2, 3, 4}))
                      .in(uniform({4, 5}, -1, 1, 2))
                      .in(uniform({2, 3, 2}, -1, 1, 3))
                      .in(uniform({2, 5}, -1, 1, 4)));
  cases.push_back(CaseBuilder("matmul_sum", "transposed")
                      .in(uniform({3, 4}))
                      .in(uniform({5, 4}, -1, 1, 2))
                      .in(uniform({3, 4}, -1, 1, 3))
                      .in(uniform({5, 4}, -1, 1, 4))
                      .with("transpose_b", true));
  cases.push_back(CaseBuilder("matmul_sum", "large")
                      .in(uniform({90, 70}))
                      .in(uniform({70, 60}, -1, 1, 2))
                      .in(uniform({90, 80}, -1, 1, 3))
                      .in(uniform({80, 60}, -1, 1, 4))
                      .large());
}

void add_draws(std::vector<Case>& cases) {
  for (const std::string op : {"dropout", "dropout_mask"}) {
    const auto make = [&](const std::string& name, const Sizes& sizes) {
      CaseBuilder c(op, name);
      c.in(uniform(sizes, 0.5, 1.5)).with("key", std::string("encode.forward.x"));
      if (op == "dropout_mask") c.zero_gradient(0);
      return c;
    };
    cases.push_back(make("rows", {2, 3, 7}).with("rate", 0.5));
    cases.push_back(make("symbols", {2, 3}).with("rate", 0.25).shapes({"[batch, 3]"}));
    cases.push_back(make("nothing dropped", {5}).with("rate", 0.0));
    cases.push_back(make("large", {100, 401}).with("rate", 0.2).large());
  }
}

void add_draws_of_elements(std::vector<Case>& cases) {
  const auto make = [&](const std::string& name, Tensor x, std::int64_t step) {
    Sizes rows = x.sizes(), key = x.sizes();
    rows.pop_back(), key.back() = 3;
    return CaseBuilder("categorical", name)
        .in(std::move(x))
        .in(uniform(rows, 1, 2, 5))
        .in(random_integers(key, 2000000000))
        .in(integers({}, {static_cast<std::int32_t>(step)}));
  };
  cases.push_back(make("rows", uniform({2, 9, 7}, -3, 3), 4));
  cases.push_back(make("one row, warm", uniform({11}, -3, 3), 0).with("temperature", 4.0));
  cases.push_back(make("of the greatest", uniform({20, 13}, -2, 2), 1).with("k", std::int64_t{3}).with("temperature", 0.7));
  cases.push_back(
      make("equals", integers({3, 6}, {1, 3, 3, 2, 3, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0, 0, 2, 2}).converted(DType::kFloat64), 3)
          .with("k", std::int64_t{2}));
  cases.push_back(make("more than there are", uniform({4, 5}), 9).with("k", std::int64_t{100}));
  const double no_number = std::numeric_limits<double>::quiet_NaN(), nothing = -std::numeric_limits<double>::infinity();
  cases.push_back(
      make("what has no weight", floats({2, 5}, {no_number, 3, 1, no_number, 2, nothing, no_number, nothing, 5, 4}), 2));
  cases.push_back(make("large", uniform({60, 901}, -8, 4), 7).large());
}

// An optimizer's op on a parameter, a gradient, and slots that are at least 0.01.
CaseBuilder update(const std::string& op, const std::string& name, const Sizes& sizes, int slots) {
  CaseBuilder c(op, name);
  c.in(uniform(sizes)).in(uniform(sizes, -1, 1, 2));
  for (int k = 0; k < slots; ++k) c.in(uniform(sizes, 0.01, 0.1, 3 + static_cast<std::uint64_t>(k)));
  return c.in(floats({}, {0.1}));
}

// A parameter of these sizes at update t, with slots of the matching shapes.
CaseBuilder adafactor_case(const std::string& name, const Sizes& sizes, double t, double beta1 = 0) {
  CaseBuilder c("adafactor_update", name);
  c.in(uniform(sizes)).in(uniform(sizes, -1, 1, 2));
  if (sizes.size() < 2) {
    c.in(uniform(sizes, 0.01, 0.1, 3)).absent();
  } else {
    Sizes rows = sizes, columns = sizes;
    rows.pop_back(), columns.erase(columns.end() - 2);
    c.in(uniform(rows, 0.01, 0.1, 3)).in(uniform(columns, 0.01, 0.1, 4));
  }
  if (beta1 > 0) {
    c.in(uniform(sizes, -1, 1, 5)).with("beta1", beta1);
  } else {
    c.absent();
  }
  return c.in(floats({}, {0.02})).in(floats({}, {t}));
}

void add_adafactor(std::vector<Case>& cases) {
  cases.push_back(adafactor_case("a matrix, the first update", {3, 7}, 1));
  cases.push_back(adafactor_case("a matrix, later, scaled", {5, 4}, 3).in(floats({}, {0.5})));
  cases.push_back(adafactor_case("with momentum and both decays", {4, 3}, 2, 0.9).with("l2", 0.2).with("weight_decay", 0.3));
  cases.push_back(adafactor_case("square", {4, 4}, 2, 0.5));
  cases.push_back(adafactor_case("a vector", {9}, 5).with("clip", 0.3).with("beta2_decay", 0.5));
  cases.push_back(adafactor_case("a vector with momentum", {9}, 5, 0.8).with("epsilon2", 10.0));
  cases.push_back(adafactor_case("a scalar", {}, 2));
  cases.push_back(adafactor_case("matrices", {2, 3, 5}, 2));
  cases.push_back(
      adafactor_case("steps as long as the rate", {3, 7}, 10000).with("relative_step", false).with("epsilon1", 0.01));
  cases.push_back(adafactor_case("of no size but its own", {3, 7}, 10000).with("scale_parameter", false));
  cases.push_back(adafactor_case("nothing", {0, 7}, 2));
  cases.push_back(CaseBuilder("adafactor_update", "no gradient, and an epsilon1 too small for float32")
                      .in(uniform({3, 4}))
                      .in(floats({3, 4}, std::vector<double>(12, 0.0)))
                      .in(floats({3}, {0, 0, 0}))
                      .in(floats({4}, {0, 0, 0, 0}))
                      .absent()
                      .in(floats({}, {0.02}))
                      .in(floats({}, {1}))
                      .with("epsilon1", 1e-50));
  cases.push_back(adafactor_case("large", {300, 201}, 7).large());
  cases.push_back(adafactor_case("large matrices", {3, 70, 201}, 7, 0.9).large());
  cases.push_back(adafactor_case("large vector", {70001}, 7).large());
}

void add_updates(std::vector<Case>& cases) {
  const std::pair<const char*, int> ops[] = {{"sgd_update", 0},      {"momentum_update", 1}, {"adagrad_update", 1},
                                             {"adadelta_update", 2}, {"rmsprop_update", 1},  {"lion_update", 1}};
  for (const auto& [op, slots] : ops) {
    cases.push_back(update(op, "elements", {3, 7}, slots));
    cases.push_back(
        update(op, "scaled, with both decays", {3, 7}, slots).in(floats({}, {0.5})).with("l2", 0.2).with("weight_decay", 0.3));
    cases.push_back(update(op, "large", {300, 201}, slots).large());
  }
  cases.push_back(update("momentum_update", "nesterov", {3, 7}, 1).with("nesterov", true).with("momentum", 0.8));
  cases.push_back(update("adagrad_update", "begun", {3, 7}, 1).with("initial", 0.1).with("epsilon", 1e-3));
  const auto adam = [](const std::string& name, const Sizes& sizes, double t) {
    return update("adam_update", name, sizes, 2).in(floats({}, {t}));
  };
  cases.push_back(adam("the first update", {3, 7}, 1));
  cases.push_back(
      adam("a later one, scaled", {3, 7}, 5).in(floats({}, {0.5})).with("beta1", 0.8).with("beta2", 0.9).with("epsilon", 1e-3));
  cases.push_back(adam("with both decays", {3, 7}, 2).with("l2", 0.2).with("weight_decay", 0.3));
  cases.push_back(adam("large", {300, 201}, 7).large());
  cases.push_back(update("lion_update", "other means", {3, 7}, 1).with("beta1", 0.5).with("beta2", 0.6));
  add_adafactor(cases);
  for (const double keep : {0.0, 1.0}) {
    cases.push_back(CaseBuilder("sum_update", keep == 0 ? "first" : "later")
                        .in(uniform({3, 7}))
                        .in(uniform({3, 7}, -1, 1, 2))
                        .in(floats({}, {keep})));
  }
  for (const double t : {1.0, 3.0, 100.0}) {
    cases.push_back(CaseBuilder("average_update", "value " + std::to_string(static_cast<int>(t)))
                        .in(uniform({3, 7}))
                        .in(uniform({3, 7}, -1, 1, 2))
                        .in(floats({}, {t}))
                        .with("decay", 0.9));
  }
  cases.push_back(
      CaseBuilder("global_norm", "several").in(uniform({3, 4})).in(uniform({5}, -1, 1, 2)).in(uniform({}, -1, 1, 3)));
  cases.push_back(CaseBuilder("global_norm", "large").in(uniform({300, 201})).in(uniform({70000}, -1, 1, 2)).large());
  cases.push_back(CaseBuilder("all_finite", "sound").in(uniform({3, 4})).in(uniform({5})));
  cases.push_back(
      CaseBuilder("all_finite", "infinite").in(uniform({3})).in(floats({2}, {1, std::numeric_limits<double>::infinity()})));
  cases.push_back(CaseBuilder("all_finite", "large").in(uniform({300, 201})).large());
  cases.push_back(CaseBuilder("clip_scale", "within").in(floats({}, {2})).with("limit", 5.0));
  cases.push_back(CaseBuilder("clip_scale", "beyond").in(floats({}, {20})).with("limit", 5.0));
}

}  // namespace

void add_algebra_cases(std::vector<Case>& cases) {
  add_products(cases);
  add_merged_products(cases);
  add_draws(cases);
  add_draws_of_elements(cases);
  add_updates(cases);
}

}  // namespace graphrun::tests
