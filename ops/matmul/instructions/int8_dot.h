// Sums of products of 8-bit integers with the processor's instructions for them. The sums are exact, so all instruction sets
// give the same results.
#pragma once

#include <cstdint>
#include <span>

namespace graphrun {

inline constexpr int kInt8Quad = 4;                      // consecutive terms of a sum that instructions read together
inline constexpr std::int64_t kInt8Step = 64;            // terms of a sum are padded with zeros to a multiple
inline constexpr std::int32_t kInt8Zero = 128;           // the byte that is 0 in a row
inline constexpr std::int64_t kMostInt8Terms = 1 << 16;  // the longest sum that is certain to fit into int32

// Rows times a panel of columns. Rows are unsigned, 0 being kInt8Zero, columns signed and at least -127: processors multiply
// such pairs.
struct Int8Panel {
  const std::uint8_t* rows = nullptr;            // [count, 4 · quads]
  const std::int8_t* columns = nullptr;          // [quads, width, 4]; width a multiple of kColumnStep
  const std::int32_t* offsets = nullptr;         // [width]: -kInt8Zero · the sum of each column
  std::int64_t count = 0, quads = 0, width = 0;  // 4 · quads is a multiple of kInt8Step
};

enum class Int8Set : std::uint8_t { kPlain, kAvx2, kVnni, kAmx };
// The sets that this processor supports, the fastest last.
std::span<const Int8Set> int8_sets();

// sums [count, width]: Σ (row - kInt8Zero) · column.
void multiply_int8(const Int8Panel& panel, std::int32_t* sums, Int8Set set = int8_sets().back());

}  // namespace graphrun
