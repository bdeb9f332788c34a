#include "ops/tiles/tile_axes.h"

#include <algorithm>

namespace graphrun {

TileAxes::TileAxes(const Sizes& result, std::span<const TensorView> inputs, bool keep_last, std::span<const std::size_t> cuts,
                   const RowReads& rows)
    : listed(inputs.size(), kNoAxis) {
  std::vector<std::int64_t> running(inputs.size(), 1), own_strides(inputs.size());
  bool cut = false;
  for (std::size_t from_end = 0; from_end < result.size(); ++from_end) {
    cut |= std::find(cuts.begin(), cuts.end(), result.size() - from_end) != cuts.end();
    const std::int64_t size = result[result.size() - 1 - from_end];
    bool has_list = false;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Sizes& s = inputs[k].sizes;
      const std::int64_t own = from_end < s.size() ? s[s.size() - 1 - from_end] : 1;
      const bool in_list = rows.at(k, s.size(), from_end);
      GRAPHRUN_CHECK(in_list ? size == rows.count : own == size || own == 1, "TileAxes: sizes do not broadcast");
      own_strides[k] = own == 1 && !in_list ? 0 : running[k];
      running[k] *= own;
      has_list |= in_list;
    }
    // A list's axis remains an axis of its own, and not the last one, along which elements are adjacent.
    if (has_list && sizes.empty()) sizes.push_back(1), strides.emplace_back(inputs.size(), 0);
    const bool first = sizes.empty(), apart = keep_last && sizes.size() == 1;
    if (size == 1 && !(keep_last && first) && !has_list) continue;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (rows.at(k, inputs[k].sizes.size(), from_end)) listed[k] = sizes.size();
    }
    bool merges = !first && !apart && !cut && !has_list;
    cut = has_list;
    for (std::size_t k = 0; k < inputs.size() && merges; ++k) merges = own_strides[k] == strides.back()[k] * sizes.back();
    if (merges) {
      sizes.back() *= size;
    } else {
      sizes.push_back(size);
      strides.push_back(own_strides);
    }
  }
  if (sizes.empty()) sizes.push_back(1), strides.emplace_back(inputs.size(), 0);
  std::reverse(sizes.begin(), sizes.end());
  std::reverse(strides.begin(), strides.end());
  for (std::size_t& axis : listed) axis = axis == kNoAxis ? kNoAxis : sizes.size() - 1 - axis;
}

std::int64_t TileAxes::row_offset(std::size_t k, std::int64_t row, const std::int32_t* numbers) const {
  std::int64_t offset = 0;
  for (std::size_t axis = sizes.size() - 1; axis-- > 0;) {
    offset += step(axis, k, row % sizes[axis], numbers);
    row /= sizes[axis];
  }
  return offset;
}

std::int64_t TileAxes::rows() const {
  std::int64_t n = 1;
  for (std::size_t axis = 0; axis + 1 < sizes.size(); ++axis) n *= sizes[axis];
  return n;
}

}  // namespace graphrun
