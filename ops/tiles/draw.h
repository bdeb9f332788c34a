// The random draws of dropout: which elements of a tensor are kept. They are a pure function of seed, training step, key, the
// steps of the enclosing scans and the element's coordinates; threads, padding, pieces and the order of work do not change
// them.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/shape.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// A node's parameters for its draws.
struct Draw {
  std::uint64_t name = 0;       // the key's hash
  std::uint32_t threshold = 0;  // an element is kept if the upper 24 bits of its word are at least this

  Draw() = default;
  Draw(double rate, const std::string& key);
  friend bool operator==(const Draw&, const Draw&) = default;
};

// What a row's draws depend on. Feature f of the row uses word f % 4 of philox(key, row's low half, its high half, f / 4,
// step).
struct DrawRow {
  std::uint64_t key = 0;   // seed and name of the node
  std::uint64_t row = 0;   // the coordinates of the row, hashed: steps of the enclosing scans, then its leading axes
  std::uint32_t step = 0;  // training step
  std::uint32_t threshold = 0;

  DrawRow() = default;
  // Sets everything but the row's own coordinates.
  DrawRow(const Draw& draw, const RandomState& random);
};

// Sets kept[i] = 1 if element begin + i of a tensor of these sizes is kept, else 0, for i < n; the last axis holds a row's
// features. May write up to kDrawSlack bytes beyond the end.
inline constexpr std::int64_t kDrawSlack = 64;
void draw_elements(const DrawRow& common, const Sizes& sizes, std::int64_t begin, std::int64_t n, std::uint8_t* kept);

}  // namespace graphrun
