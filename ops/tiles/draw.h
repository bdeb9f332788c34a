// The draws of dropout: which elements of a tensor stay. They are a pure function of seed, training step, key, the steps of the
// scans around the node and the element's coordinates, so threads, padding, pieces and the order of work change nothing.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/shape.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// What a node says of its draws.
struct Draw {
  std::uint64_t name = 0;       // the key's hash
  std::uint32_t threshold = 0;  // an element stays where the upper 24 bits of its word are not below

  Draw() = default;
  Draw(double rate, const std::string& key);
  friend bool operator==(const Draw&, const Draw&) = default;
};

// What a row's draws depend on. Feature f of the row takes word f % 4 of philox(key, row's low half, its high half, f / 4,
// step).
struct DrawRow {
  std::uint64_t key = 0;   // seed and name of the node
  std::uint64_t row = 0;   // the coordinates of the row, folded: steps of the scans around it, then its leading axes
  std::uint32_t step = 0;  // of training
  std::uint32_t threshold = 0;

  DrawRow() = default;
  // All but the row's own coordinates.
  DrawRow(const Draw& draw, const RandomState& random);
};

// kept[i] = 1 where element begin + i of a tensor of these sizes stays, else 0, for i < n; the last axis holds a row's
// features. May write up to kDrawSlack bytes beyond.
inline constexpr std::int64_t kDrawSlack = 64;
void draw_elements(const DrawRow& common, const Sizes& sizes, std::int64_t begin, std::int64_t n, std::uint8_t* kept);

}  // namespace graphrun
