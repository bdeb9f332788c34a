// How to find a result's elements in an operand that is permuted or broadcast.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/base/attributes.h"
#include "runtime/base/shape.h"

namespace graphrun {

// The sizes of the result, and the corresponding strides in the operand.
struct Walk {
  std::vector<std::int64_t> sizes, strides;
};

// The attribute, or the permutation that swaps the last two axes.
inline std::vector<std::size_t> permutation_of(const Attributes& attributes, std::size_t rank) {
  const std::vector<std::int64_t>& given = attributes.integers("permutation");
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (given.empty() && rank >= 2) std::swap(order[rank - 1], order[rank - 2]);
  for (std::size_t i = 0; i < given.size(); ++i) {
    order[i] = static_cast<std::size_t>(given[i] < 0 ? given[i] + static_cast<std::int64_t>(rank) : given[i]);
  }
  return order;
}

// For a transpose, after merging axes that stay adjacent.
inline Walk walk_of(const Sizes& x, const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> stride(x.size(), 1);
  for (std::size_t i = x.size(); i-- > 1;) stride[i - 1] = stride[i] * x[i];
  Walk walk;
  for (std::size_t axis : order) {
    if (x[axis] == 1) continue;
    if (!walk.sizes.empty() && walk.strides.back() == stride[axis] * x[axis]) {
      walk.sizes.back() *= x[axis];
      walk.strides.back() = stride[axis];
    } else {
      walk.sizes.push_back(x[axis]);
      walk.strides.push_back(stride[axis]);
    }
  }
  if (walk.sizes.size() == 1) walk.sizes.insert(walk.sizes.begin(), 1), walk.strides.insert(walk.strides.begin(), 0);
  if (walk.sizes.empty()) walk = {{1, 1}, {0, 1}};
  return walk;
}

// The result as nested loops, with the corresponding strides in x (0 if x is repeated); adjacent loops with compatible strides
// are merged. The innermost loop either copies (stride 1) or repeats one element (stride 0).
inline Walk loops_of(const Sizes& x, const Sizes& out) {
  std::vector<std::int64_t> stride(out.size(), 0);
  std::int64_t step = 1;
  for (std::size_t i = x.size(); i-- > 0;) {
    if (x[i] != 1) stride[i + out.size() - x.size()] = step;
    step *= x[i];
  }
  Walk loops;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 1) continue;
    const bool alike = !loops.sizes.empty() && loops.strides.back() == stride[i] * out[i];
    if (alike) {
      loops.sizes.back() *= out[i];
      loops.strides.back() = stride[i];
    } else {
      loops.sizes.push_back(out[i]);
      loops.strides.push_back(stride[i]);
    }
  }
  if (loops.sizes.empty()) loops = {{1}, {1}};
  return loops;
}

}  // namespace graphrun
