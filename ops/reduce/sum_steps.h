// How broadcasting is undone.
#pragma once

#include <vector>

#include "ops/axis.h"

namespace graphrun {

// The sums to make, one after the other: each removes one run of neighbouring axes, the last run first.
inline std::vector<AxisView> steps_to(const Sizes& from, const Sizes& to) {
  Sizes sizes = from;
  std::vector<AxisView> steps;
  const auto added = static_cast<int>(from.size() - to.size());
  // Size 1 to size 1 belongs to either kind: it goes with what stands before it.
  const auto summed = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    return i < added || to[at - static_cast<std::size_t>(added)] != from[at];
  };
  for (int last = static_cast<int>(from.size()); last > 0;) {
    if (!summed(last - 1)) {
      --last;
      continue;
    }
    int first = last - 1;
    while (first > 0 && (summed(first - 1) || sizes[static_cast<std::size_t>(first - 1)] == 1)) --first;
    const AxisView view = view_axes(sizes, first, last);
    if (view.n != 1) steps.push_back(view);
    for (int i = first; i < last; ++i) sizes[static_cast<std::size_t>(i)] = 1;
    last = first;
  }
  return steps;
}

}  // namespace graphrun
