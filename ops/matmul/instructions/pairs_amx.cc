#include "ops/matmul/instructions/pairs_amx.h"

#include "ops/matmul/instructions/amx.h"
#include "runtime/base/status.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graphrun {

#if defined(__x86_64__)

#define GRAPHRUN_PAIR_TILES __attribute__((target("amx-tile,amx-bf16")))

namespace {

constexpr std::int64_t kPairBytes = 4;
constexpr std::int64_t kPanelAhead = 4096;  // how far ahead the panel is prefetched, in bytes

// The sums of up to two rows and two columns of tiles, from row i and column j: those above or below, left or right. Only the
// tiles below and to the right may be partial, as shapes_for configures them. Tiles are named by literals: sums are in tiles 0
// to 3, rows in 4 and 5, columns in 6 and 7.
template <bool above, bool below, bool left, bool right>
GRAPHRUN_PAIR_TILES void multiply_square(const PairBlock& b, std::int64_t i, std::int64_t j) {
  const std::int64_t row_bytes = b.terms * static_cast<std::int64_t>(sizeof *b.rows), panel_row = b.width * kPairBytes,
                     sums_row = b.sums_row * static_cast<std::int64_t>(sizeof *b.sums);
  const std::int64_t second_row = above ? kTile : 0, second_column = left ? kTile : 0;
  const char* rows = reinterpret_cast<const char*>(b.rows) + i * row_bytes;
  const char* columns = reinterpret_cast<const char*>(b.panel) + j * kPairBytes;
  float *const upper = b.sums + i * b.sums_row + j, *const lower = upper + second_row * b.sums_row;
  if (b.adds) {
    if constexpr (above && left) _tile_loadd(0, upper, sums_row);
    if constexpr (above && right) _tile_loadd(1, upper + second_column, sums_row);
    if constexpr (below && left) _tile_loadd(2, lower, sums_row);
    if constexpr (below && right) _tile_loadd(3, lower + second_column, sums_row);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::int64_t k = 0; k < b.terms; k += kPairTileTerms, rows += kTileRowBytes, columns += kTile * panel_row) {
    if (i == 0 && j == 0) {  // prefetch all columns of the panel, which the other corners then find in the cache
      for (std::int64_t line = 0; line < kTile * panel_row; line += 64) _mm_prefetch(columns + kPanelAhead + line, _MM_HINT_T0);
    }
    if constexpr (left) _tile_loadd(6, columns, panel_row);
    if constexpr (above) _tile_loadd(4, rows, row_bytes);
    if constexpr (above && left) _tile_dpbf16ps(0, 4, 6);
    if constexpr (right) _tile_loadd(7, columns + second_column * kPairBytes, panel_row);
    if constexpr (above && right) _tile_dpbf16ps(1, 4, 7);
    if constexpr (below) _tile_loadd(5, rows + second_row * row_bytes, row_bytes);
    if constexpr (below && left) _tile_dpbf16ps(2, 5, 6);
    if constexpr (below && right) _tile_dpbf16ps(3, 5, 7);
  }
  if constexpr (above && left) _tile_stored(0, upper, sums_row);
  if constexpr (above && right) _tile_stored(1, upper + second_column, sums_row);
  if constexpr (below && left) _tile_stored(2, lower, sums_row);
  if constexpr (below && right) _tile_stored(3, lower + second_column, sums_row);
}

// All columns of up to two rows of tiles.
template <bool above, bool below>
GRAPHRUN_PAIR_TILES void multiply_rows(const PairBlock& b, std::int64_t i) {
  const std::int64_t tiles = (b.width + kTile - 1) / kTile;
  if (tiles == 1) return multiply_square<above, below, false, true>(b, i, 0);
  if (tiles == 3) multiply_square<above, below, true, false>(b, i, 0);
  multiply_square<above, below, true, true>(b, i, (tiles - 2) * kTile);
}

TileShapes shapes_for(std::int64_t count, std::int64_t width) {
  TileShapes shapes;
  const auto last_rows = static_cast<std::uint8_t>((count - 1) % kTile + 1);
  const auto last_bytes = static_cast<std::uint16_t>(((width - 1) % kTile + 1) * kPairBytes);
  shapes.rows[2] = shapes.rows[3] = shapes.rows[5] = last_rows;
  shapes.row_bytes[1] = shapes.row_bytes[3] = shapes.row_bytes[7] = last_bytes;
  return shapes;
}

}  // namespace

GRAPHRUN_PAIR_TILES void multiply_pairs_in_tiles(const PairBlock& b) {
  if (b.count <= 0 || b.width <= 0) return;
  const TileShapes shapes = shapes_for(b.count, b.width);
  flush_before_tiles();
  _tile_loadconfig(&shapes);
  const std::int64_t tiles = (b.count + kTile - 1) / kTile;
  if (tiles == 1) {
    multiply_rows<false, true>(b, 0);
  } else {
    if (tiles == 3) multiply_rows<true, false>(b, 0);
    multiply_rows<true, true>(b, (tiles - 2) * kTile);
  }
  _tile_release();
}

#else

void multiply_pairs_in_tiles(const PairBlock&) { throw InternalError("this processor has no AMX"); }

#endif

}  // namespace graphrun
