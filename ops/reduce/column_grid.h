// How a device's blocks divide a reduction along an axis: a function of the sizes alone, the same for every device.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ops/reduce/column.h"

namespace graphrun {

// `most`: the most threads that a block has if there are few columns and these are long; otherwise, it has kThreads.
inline ColumnGrid column_grid(const AxisView& view, int most = ColumnGrid::kThreads) {
  constexpr std::int64_t kCoalesced = 32, kEnoughColumns = 1 << 16;  // a warp; two waves of a large device
  constexpr std::int64_t kFewColumns = 512, kLong = 1024;            // kLong: four positions for each of the usual threads
  ColumnGrid grid;
  const auto power = [](std::int64_t n, std::int64_t most) {
    return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(n, 1, most))));
  };
  grid.along_axis = view.inner == 1;
  if (grid.along_axis) {
    const bool is_long = view.n > kLong && view.results() <= kFewColumns;
    grid.lanes = is_long ? power((view.n + 3) / 4, most) : power(view.n, ColumnGrid::kThreads);
  } else if (view.results() < kEnoughColumns) {
    grid.lanes = power(view.n, ColumnGrid::kThreads / kCoalesced);
  }
  grid.results = std::max(1, ColumnGrid::kThreads / grid.lanes);
  grid.blocks = (view.results() + grid.results - 1) / grid.results;
  return grid;
}

// The same for a reduction whose columns may be divided into parts: enough for two blocks on each multiprocessor of a large
// device, as long as each thread has some positions to fold.
inline ColumnGrid divided_column_grid(const AxisView& view, int most = ColumnGrid::kThreads) {
  constexpr std::int64_t kEnoughBlocks = 264, kFewPositions = 8;
  ColumnGrid grid = column_grid(view, most);
  if (grid.blocks == 0) return grid;
  const std::int64_t parts = std::min(kEnoughBlocks / grid.blocks, view.n / (grid.lanes * kFewPositions));
  if (parts < 2) return grid;
  grid.parts = static_cast<int>(parts);
  grid.blocks *= parts;
  return grid;
}

// The grid of the launch that joins the values of parts, which are in the order of Column::place().
inline ColumnGrid joining_grid(const ColumnGrid& divided, const AxisView& view) {
  return column_grid({view.results(), divided.parts, 1});
}
// Bytes of those values; 0 if no column is divided.
inline std::size_t parts_bytes(const ColumnGrid& divided, const AxisView& view, std::size_t value_bytes) {
  return divided.parts == 1 ? 0 : static_cast<std::size_t>(view.results() * divided.parts) * value_bytes;
}

}  // namespace graphrun
