#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/base/random.h"
#include "tests/ops/reference.h"

namespace graphrun::tests {
namespace {

// Element [lead…, i, j] of a factor that may have fewer or broadcast leading axes, and may be transposed.
double factor(const Array& x, const Sizes& lead, std::int64_t i, std::int64_t j, bool transposed) {
  const std::size_t own = x.rank() - 2;
  Sizes at(lead.end() - static_cast<std::ptrdiff_t>(own), lead.end());
  for (std::size_t k = 0; k < own; ++k) at[k] = x.sizes[k] == 1 ? 0 : at[k];
  at.push_back(transposed ? j : i);
  at.push_back(transposed ? i : j);
  return x[at];
}

std::vector<Array> matmul(const Call& c) {
  Array a = c.x(0), b = c.x(1);
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a.sizes.insert(a.sizes.begin(), 1);
  if (column) b.sizes.push_back(1);
  const bool ta = c.attributes.boolean("transpose_a"), tb = c.attributes.boolean("transpose_b");
  const std::int64_t n = a.sizes[a.rank() - (ta ? 1 : 2)], inner = a.sizes[a.rank() - (ta ? 2 : 1)];
  const std::int64_t m = b.sizes[b.rank() - (tb ? 2 : 1)];
  Sizes lead = c.output_sizes[0];
  lead.resize(lead.size() - (row ? 0 : 1) - (column ? 0 : 1));
  Array y(c.output_sizes[0]);
  std::size_t at = 0;
  for (const Sizes& l : indices_of(lead)) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < m; ++j, ++at) {
        for (std::int64_t k = 0; k < inner; ++k) y.data[at] += factor(a, l, i, k, ta) * factor(b, l, k, j, tb);
      }
    }
  }
  return {y};
}

std::vector<Array> matmul_reduce(const Call& c) {
  Array y(c.output_sizes[0]);
  const Sizes lead(c.x(0).sizes.begin(), c.x(0).sizes.end() - 1);
  for (const Sizes& l : indices_of(lead)) {
    for (std::int64_t i = 0; i < y.sizes[0]; ++i) {
      for (std::int64_t j = 0; j < y.sizes[1]; ++j) y[{i, j}] += c.x(0)[with(l, l.size(), i)] * c.x(1)[with(l, l.size(), j)];
    }
  }
  return {y};
}

// Products computed as separate ops: the op `one` applied to operands a and b.
Array product_of(const Call& c, const Reference& one, std::size_t a, std::size_t b, const Sizes& y) {
  Call call{{c.inputs[a], c.inputs[b]}, c.attributes, c.symbols, {y}};
  if (!call.attributes.has("transpose_a")) call.attributes.set("transpose_a", false);
  return one(call)[0];
}

std::vector<Array> many(const Call& c, const Reference& one) {
  std::vector<Array> y;
  for (std::size_t i = 1; i < c.inputs.size(); ++i) y.push_back(product_of(c, one, 0, i, c.output_sizes[i - 1]));
  return y;
}

std::vector<Array> gather_matmul(const Call& c) {
  const Array &table = c.x(0), &indices = c.x(1);
  const std::int64_t k = table.sizes[1];
  Sizes sizes = indices.sizes;
  sizes.push_back(k);
  Array rows(sizes);
  for (std::size_t i = 0; i < rows.data.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(k), column = i % static_cast<std::size_t>(k);
    if (!c.has(2) || c.x(2).data[row] != 0)
      rows.data[i] = table.data[static_cast<std::size_t>(indices.data[row]) * static_cast<std::size_t>(k) + column];
  }
  Call products{{&rows}, c.attributes, c.symbols, c.output_sizes};
  products.inputs.insert(products.inputs.end(), c.inputs.begin() + 3, c.inputs.end());
  return many(products, matmul);
}

std::vector<Array> matmul_sum(const Call& c) {
  Array y(c.output_sizes[0]);
  for (std::size_t i = 0; i < c.inputs.size(); i += 2) {
    const Array term = product_of(c, matmul, i, i + 1, y.sizes);
    for (std::size_t k = 0; k < y.data.size(); ++k) y.data[k] += term.data[k];
  }
  return {y};
}

// The draw of one element as ops/random documents it, with the interpreter's seed 7, step 11 and scan step 3.
bool dropped(const std::string& key, const Sizes& index, double rate) {
  const std::uint64_t stream = fold_coordinate(fold_coordinate(7, hash_name(key.data(), key.size())), 0);
  std::uint64_t row = fold_coordinate(0, 3);
  for (std::size_t k = 0; k + 1 < index.size(); ++k) row = fold_coordinate(row, static_cast<std::uint64_t>(index[k]));
  const auto feature = static_cast<std::uint32_t>(index.empty() ? 0 : index.back());
  const Philox four = philox(stream, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), feature / 4, 11);
  return unit_float(four.v[feature % 4]) < rate;
}

std::vector<Array> dropout(const Call& c, bool mask) {
  const double rate = c.attributes.number("rate");
  Array y(c.output_sizes[0]);
  for (const Sizes& i : indices_of(y.sizes)) {
    y[i] = dropped(c.attributes.string("key"), i, rate) ? 0 : (mask ? 1 : c.x()[i]) / (1 - rate);
  }
  return {y};
}

std::vector<Array> categorical(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::int64_t n = c.x().sizes.back(), k = c.attributes.integer("k");
  for (std::int64_t row = 0; row < y.count(); ++row) {
    const double* x = c.x().data.data() + row * n;
    const double* key = c.x(2).data.data() + row * 3;
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < n; ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return x[a] > x[b] || (std::isnan(x[b]) && !std::isnan(x[a])); });
    if (k > 0 && k < n) order.resize(static_cast<std::size_t>(k));
    std::vector<double> reached;
    double sum = 0;
    for (std::int64_t i : order) {
      if (!std::isnan(x[i])) sum += std::exp((x[i] - x[order[0]]) / c.attributes.number("temperature"));
      reached.push_back(sum);
    }
    const auto word = [](double v) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(v)) & 0xFFFFFFFFu; };
    const Philox four = philox(word(key[1]) << 32 | word(key[0]), static_cast<std::uint32_t>(word(key[2])),
                               static_cast<std::uint32_t>(word(c.x(3).data[0])), 0, 0);
    std::size_t place = 0;
    while (place + 1 < order.size() && reached[place] <= unit_double(four.v[0], four.v[1]) * sum) ++place;
    y.data[static_cast<std::size_t>(row)] = static_cast<double>(order[place]);
  }
  return {y};
}

std::vector<Array> global_norm(const Call& c) {
  double squares = 0;
  for (const Array* x : c.inputs) {
    for (double e : x->data) squares += e * e;
  }
  return {Array({}, std::sqrt(squares))};
}

std::vector<Array> all_finite(const Call& c) {
  bool finite = true;
  for (const Array* x : c.inputs) {
    for (double e : x->data) finite = finite && std::isfinite(e);
  }
  return {Array({}, finite ? 1 : 0)};
}

}  // namespace

void add_algebra_references(References& r) {
  r["matmul"] = matmul;
  r["matmul_reduce"] = matmul_reduce;
  r["matmul_many"] = [](const Call& c) { return many(c, matmul); };
  r["matmul_reduce_many"] = [](const Call& c) { return many(c, matmul_reduce); };
  r["matmul_sum"] = matmul_sum;
  r["gather_matmul"] = gather_matmul;
  r["dropout"] = [](const Call& c) { return dropout(c, false); };
  r["dropout_mask"] = [](const Call& c) { return dropout(c, true); };
  r["categorical"] = categorical;
  r["global_norm"] = global_norm;
  r["all_finite"] = all_finite;
  r["clip_scale"] = [](const Call& c) {
    return std::vector<Array>{Array({}, std::min(1.0, c.attributes.number("limit") / c.x().data[0]))};
  };
}

}  // namespace graphrun::tests
