// Which of two shapes has fewer elements, as far as that holds for any batch.
#pragma once

#include <algorithm>

#include "runtime/base/shape.h"

namespace graphrun {

// Whether `small` has fewer elements than `large` whatever the batch's sizes (above 1): its sizes are some of the other's.
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
