// Compares the numbers of elements of two shapes, as far as the result holds for any batch.
#pragma once

#include <algorithm>

#include "runtime/base/shape.h"

namespace graphrun {

// Whether `small` has fewer elements than `large` for all sizes (above 1) of the batch: its sizes are a subset of the other's.
inline bool is_smaller(const Shape& small, const Shape& large) {
  Shape left = large;
  for (const Dim& d : small) {
    if (d == Dim(1)) continue;
    const auto at = std::find(left.begin(), left.end(), d);
    if (at == left.end()) return false;
    left.erase(at);
  }
  return std::any_of(left.begin(), left.end(), [](const Dim& d) { return d != Dim(1); });
}

}  // namespace graphrun
