// How a device's blocks share a reduction along an axis: a plain function of the sizes, the same for every device.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "ops/axis.h"

namespace graphrun {

// A block's threads are `results` columns (elements of the result) times `lanes`, which share a column's positions; both are
// powers of two. Neighbouring threads read neighbouring elements: along the axis where it is the last, else across columns.
struct ColumnGrid {
  static constexpr int kThreads = 256;
  int lanes = 1, results = kThreads;
  bool along_axis = false;  // neighbours are lanes of one column
  std::int64_t blocks = 0;

  // Bytes that the lanes of all columns need to put their values together.
  std::size_t shared(std::size_t value_bytes) const { return lanes == 1 ? 0 : value_bytes * kThreads; }
};

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
