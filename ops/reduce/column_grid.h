// How a device's blocks divide a reduction along an axis: a function of the sizes alone, the same for every device.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ops/reduce/column.h"

namespace graphrun {

inline ColumnGrid column_grid(const AxisView& view) {
  constexpr std::int64_t kCoalesced = 32, kEnoughColumns = 1 << 16;  // a warp; two waves of a large device
  ColumnGrid grid;
  const auto power = [](std::int64_t n, std::int64_t most) {
    return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(n, 1, most))));
  };
  grid.along_axis = view.inner == 1;
  if (grid.along_axis) {
    grid.lanes = power(view.n, ColumnGrid::kThreads);
  } else if (view.results() < kEnoughColumns) {
    grid.lanes = power(view.n, ColumnGrid::kThreads / kCoalesced);
  }
  grid.results = ColumnGrid::kThreads / grid.lanes;
  grid.blocks = (view.results() + grid.results - 1) / grid.results;
  return grid;
}

}  // namespace graphrun
