// AMX: eight tiles, each of 16 rows of 64 bytes, that x86 processors multiply. For sources that use its instructions.
#pragma once

#if defined(__x86_64__)

#include <cstdint>

namespace graphrun {

inline constexpr int kTile = 16, kTileRowBytes = 64;  // rows; a row of sums holds 16 numbers

// The configuration that LDTILECFG reads: whole tiles unless it is changed.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
  constexpr TileShapes() {
    for (int tile = 0; tile < 8; ++tile) row_bytes[tile] = kTileRowBytes, rows[tile] = kTile;
  }
};

// Before LDTILECFG or a call of a function that loads tiles: GCC's intrinsics do not say that they read memory.
inline void flush_before_tiles() { asm volatile("" ::: "memory"); }

}  // namespace graphrun

#endif
