#include <cstddef>

#include "tests/ops/reference.h"

namespace graphrun::tests {
namespace {

std::vector<Array> concat(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::size_t axis = c.axis(y.rank());
  std::int64_t begin = 0;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    for (const Sizes& i : indices_of(c.x(k).sizes)) {
      Sizes to = i;
      to[axis] += begin;
      y[to] = c.x(k)[i];
    }
    begin += c.x(k).sizes[axis];
  }
  return {y};
}

std::vector<Array> stack(const Call& c) {
  Array y(c.output_sizes[0]);
  const std::size_t axis = c.axis(y.rank());
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    for (const Sizes& i : indices_of(c.x(k).sizes)) y[with(i, axis, static_cast<std::int64_t>(k))] = c.x(k)[i];
  }
  return {y};
}

std::vector<Array> split(const Call& c) {
  const std::size_t axis = c.axis(c.x().rank());
  std::vector<Array> parts;
  for (const Sizes& sizes : c.output_sizes) parts.emplace_back(sizes);
  const std::int64_t n = parts[0].sizes[axis];
  for (const Sizes& i : indices_of(c.x().sizes)) {
    Sizes to = i;
    to[axis] %= n;
    parts[static_cast<std::size_t>(i[axis] / n)][to] = c.x()[i];
  }
  return parts;
}

std::vector<Array> transpose(const Call& c) {
  Array y(c.output_sizes[0]);
  std::vector<std::int64_t> order = c.attributes.integers("permutation");
  const auto rank = static_cast<std::int64_t>(y.rank());
  if (order.empty()) {
    for (std::int64_t k = 0; k < rank; ++k) order.push_back(k < rank - 2 ? k : k == rank - 1 ? rank - 2 : rank - 1);
  }
  for (const Sizes& i : indices_of(y.sizes)) {
    Sizes from(i.size());
    for (std::size_t k = 0; k < i.size(); ++k) from[static_cast<std::size_t>(order[k] < 0 ? order[k] + rank : order[k])] = i[k];
    y[i] = c.x()[from];
  }
  return {y};
}

std::vector<Array> same_elements(const Call& c) {
  Array y(c.output_sizes[0]);
  y.data = c.x().data;
  return {y};
}

std::vector<Array> broadcast_to(const Call& c) {
  Array y(c.output_sizes[0]);
  for (const Sizes& i : indices_of(y.sizes)) {
    Sizes from(i.begin() + static_cast<std::ptrdiff_t>(y.rank() - c.x().rank()), i.end());
    for (std::size_t k = 0; k < from.size(); ++k) from[k] = c.x().sizes[k] == 1 ? 0 : from[k];
    y[i] = c.x()[from];
  }
  return {y};
}

}  // namespace

void add_shape_references(References& r) {
  r["concat"] = concat;
  r["stack"] = stack;
  r["split"] = split;
  r["transpose"] = transpose;
  r["reshape"] = same_elements;
  r["expand"] = same_elements;
  r["stop_gradient"] = same_elements;
  r["broadcast_to"] = broadcast_to;
}

}  // namespace graphrun::tests
