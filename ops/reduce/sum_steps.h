// The steps that undo broadcasting.
#pragma once

#include <vector>

#include "ops/axis.h"

namespace graphrun {

// The sums to compute, one after the other: each removes one run of adjacent axes, the last run first.
inline std::vector<AxisView> steps_to(const Sizes& from, const Sizes& to) {
  Sizes sizes = from;
  std::vector<AxisView> steps;
  const auto added = static_cast<int>(from.size() - to.size());
  // An axis of size 1 in both may go with either kind: it joins the axes before it.
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
