// Copies between a whole tensor and its parts along an axis.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/axis.h"
#include "ops/parallel.h"

namespace graphrun {

// The place of one part in each of the `outer` rows of the whole, in bytes.
struct JoinedPart {
  std::size_t offset = 0, bytes = 0;
};

// A tensor [outer, parts…] in bytes: `row` bytes per outer index.
struct PartLayout {
  std::int64_t outer = 1;
  std::size_t row = 0;
  std::vector<JoinedPart> parts;
};

// The layout of `parts` concatenated along an axis of `whole`; a stack's parts lack the axis; each occupies one index of it.
inline PartLayout layout_of(const Sizes& whole, int axis, const std::vector<TensorView>& parts, bool stacked) {
  const std::size_t element = parts.empty() ? 0 : size_of(parts.front().dtype);
  const AxisView view = view_axis(whole, axis);
  PartLayout layout;
  layout.outer = view.outer;
  layout.row = static_cast<std::size_t>(view.n * view.inner) * element;
  std::size_t offset = 0;
  for (const TensorView& part : parts) {
    const std::int64_t n = stacked ? 1 : part.sizes[static_cast<std::size_t>(axis)];
    layout.parts.push_back({offset, static_cast<std::size_t>(n * view.inner) * element});
    offset += layout.parts.back().bytes;
  }
  return layout;
}

// Calls copy(whole, part, bytes) for every outer index of part i, whose memory starts at `part`.
template <class Copy>
void over_part(const PartLayout& layout, std::size_t i, char* whole, char* part, const Copy& copy) {
  const JoinedPart& p = layout.parts[i];
  if (p.bytes == 0) return;
  parallel_for(layout.outer, layout.outer * static_cast<std::int64_t>(p.bytes / 4), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      copy(whole + static_cast<std::size_t>(o) * layout.row + p.offset, part + static_cast<std::size_t>(o) * p.bytes, p.bytes);
    }
  });
}

}  // namespace graphrun
