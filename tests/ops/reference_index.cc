#include <algorithm>
#include <cmath>

#include "tests/ops/reference.h"

namespace graphrun::tests {
namespace {

std::int64_t whole(double x) { return static_cast<std::int64_t>(x); }

Sizes joined(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Array> gather(const Call& c) {
  Array y(c.output_sizes[0]);
  const Sizes row(c.x().sizes.begin() + 1, c.x().sizes.end());
  for (const Sizes& i : indices_of(c.x(1).sizes)) {
    for (const Sizes& k : indices_of(row)) y[joined(i, k)] = c.x()[joined({whole(c.x(1)[i])}, k)];
  }
  return {y};
}

std::vector<Array> select_rows(const Call& c) {
  const std::size_t axis = c.axis(c.x().rank());
  Array y(c.output_sizes[0]);
  for (const Sizes& i : indices_of(y.sizes)) {
    Sizes from = i;
    from[axis] = whole(c.x(1)[{i[axis]}]);
    y[i] = c.x()[from];
  }
  return {y};
}

std::vector<Array> scatter_add(const Call& c) {
  Array y(c.output_sizes[0]);
  const Sizes row(y.sizes.begin() + 1, y.sizes.end());
  for (const Sizes& i : indices_of(c.x().sizes)) {
    for (const Sizes& k : indices_of(row)) y[joined({whole(c.x()[i])}, k)] += c.x(1)[joined(i, k)];
  }
  return {y};
}

std::vector<Array> pick(const Call& c) {
  Array y(c.output_sizes[0]);
  for (const Sizes& i : indices_of(y.sizes)) y[i] = c.x()[with(i, i.size(), whole(c.x(1)[i]))];
  return {y};
}

std::vector<Array> scatter_last(const Call& c) {
  Array y(c.output_sizes[0]);
  for (const Sizes& i : indices_of(c.x().sizes)) {
    Sizes to = i;
    to.back() = whole(c.x()[i]);
    y[to] = c.x(1)[i];
  }
  return {y};
}

std::vector<Array> one_hot(const Call& c) {
  Array y(c.output_sizes[0]);
  for (const Sizes& i : indices_of(c.x().sizes)) y[with(i, i.size(), whole(c.x()[i]))] = 1;
  return {y};
}

std::int64_t counted_from_end(std::int64_t at, std::int64_t n) { return at < 0 ? at + n : at; }

std::vector<Array> slice(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::size_t axis = c.axis(c.x().rank());
  for (Sizes i : indices_of(y.sizes)) {
    Sizes from = i;
    from[axis] += counted_from_end(c.size("begin"), c.x().sizes[axis]);
    y[i] = c.x()[from];
  }
  return {y};
}

std::vector<Array> index(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::size_t axis = c.axis(c.x().rank());
  for (const Sizes& i : indices_of(y.sizes)) y[i] = c.x()[with(i, axis, counted_from_end(c.size("at"), c.x().sizes[axis]))];
  return {y};
}

std::vector<Array> pad(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::size_t axis = c.axis(c.x().rank());
  for (const Sizes& i : indices_of(c.x().sizes)) {
    Sizes to = i;
    to[axis] += c.size("begin");
    y[to] = c.x()[i];
  }
  return {y};
}

std::vector<Array> mask(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::size_t axis = c.axis(c.x().rank());
  for (const Sizes& i : indices_of(y.sizes)) {
    if (i[axis] < c.length(1, without(i, axis), y.sizes[axis])) y[i] = c.x()[i];
  }
  return {y};
}

std::vector<Array> cumsum(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::size_t axis = c.axis(c.x().rank());
  for (const Sizes& i : indices_of(y.sizes)) {
    const std::int64_t n = c.length(1, without(i, axis), y.sizes[axis]);
    if (i[axis] >= n) continue;
    const bool reverse = c.attributes.boolean("reverse");
    for (std::int64_t k = reverse ? i[axis] : 0; k < (reverse ? n : i[axis] + 1); ++k)
      y[i] += c.x()[with(without(i, axis), axis, k)];
  }
  return {y};
}

std::vector<Array> last(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::size_t axis = c.axis(c.x().rank());
  for (const Sizes& i : indices_of(y.sizes)) {
    const std::int64_t n = c.length(1, i, c.x().sizes[axis]);
    if (n > 0) y[i] = c.x()[with(i, axis, n - 1)];
  }
  return {y};
}

std::vector<Array> last_gradient(const Call& c) {
  Array d(c.output_sizes[0]);
  const std::size_t axis = c.axis(d.rank());
  for (const Sizes& i : indices_of(c.x().sizes)) {
    const std::int64_t n = c.length(1, i, d.sizes[axis]);
    if (n > 0) d[with(i, axis, n - 1)] = c.x()[i];
  }
  return {d};
}

std::vector<Array> sequence_mask(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::size_t axis = c.axis(y.rank());
  for (const Sizes& i : indices_of(y.sizes)) y[i] = static_cast<double>(i[axis]) < c.x()[without(i, axis)] ? 1 : 0;
  return {y};
}

std::vector<Array> put(const Call& c) {
  Array y = c.x();
  for (const Sizes& i : indices_of(c.x(1).sizes)) y[with(i, 0, whole(c.x(2).data[0]))] = c.x(1)[i];
  return {y};
}

std::vector<Array> topk(const Call& c) {
  Array values(c.output_sizes[0]), places(c.output_sizes[0]);
  const std::int64_t n = c.x().sizes.back();
  Sizes rows = c.x().sizes;
  rows.pop_back();
  for (const Sizes& row : indices_of(rows)) {
    std::vector<std::int64_t> order;
    for (std::int64_t k = 0; k < n; ++k) order.push_back(k);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      const double x = c.x()[with(row, row.size(), a)], y = c.x()[with(row, row.size(), b)];
      return x > y || (std::isnan(y) && !std::isnan(x));
    });
    for (std::int64_t j = 0; j < values.sizes.back(); ++j) {
      values[with(row, row.size(), j)] = c.x()[with(row, row.size(), order[static_cast<std::size_t>(j)])];
      places[with(row, row.size(), j)] = static_cast<double>(order[static_cast<std::size_t>(j)]);
    }
  }
  return {values, places};
}

}  // namespace

void add_index_references(References& r) {
  r["gather"] = gather;
  r["select_rows"] = select_rows;
  r["scatter_add"] = scatter_add;
  r["pick"] = pick;
  r["scatter_last"] = scatter_last;
  r["one_hot"] = one_hot;
  r["slice"] = slice;
  r["index"] = index;
  r["pad"] = pad;
  r["cumsum"] = cumsum;
  r["mask"] = mask;
  r["last"] = last;
  r["last_gradient"] = last_gradient;
  r["sequence_mask"] = sequence_mask;
  r["put"] = put;
  r["topk"] = topk;
}

}  // namespace graphrun::tests
