// Large products of factors rounded to bfloat16 on a device: for .cu files. cuBLAS rounds float32 factors itself, but then
// reads twice the bytes and does not use the fastest kernels; nor does it for rows that are not multiples of 16 bytes. So
// factors are copied first, rounded, with rows and the summed axis padded with zeros. Factors are rounded alike either way; the
// order of sums may differ.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/round_up.h"
#include "runtime/cuda/blas.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/matrix_units.h"

namespace graphrun::cuda {

constexpr std::int64_t kRoundedTogether = 8;  // numbers in 16 bytes

// A factor as it is stored, and its copy.
struct RoundedCopy {
  std::int64_t rows, columns;       // of the factor
  std::int64_t padded_rows, pitch;  // of the copy; rows are padded if they are the summed axis

  std::size_t bytes() const { return static_cast<std::size_t>(round_up(padded_rows * pitch * 2, kAlignment)); }
};
inline RoundedCopy rounded_copy(std::int64_t rows, std::int64_t columns, bool sums_rows) {
  return {rows, columns, sums_rows ? round_up(rows, kRoundedTogether) : rows, round_up(columns, kRoundedTogether)};
}
inline RoundedCopy copy_of_a(const RowMajorProduct& p) {
  return p.transpose_a ? rounded_copy(p.k, p.m, true) : rounded_copy(p.m, p.k, false);
}
inline RoundedCopy copy_of_b(const RowMajorProduct& p) {
  return p.transpose_b ? rounded_copy(p.n, p.k, false) : rounded_copy(p.k, p.n, true);
}

// Whether copying pays: two more launches, each of which takes about 2 µs.
inline bool multiplies_copies(const RowMajorProduct& p, ProductPrecision precision) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 27;
  return precision == ProductPrecision::kBFloat16 && p.count == 1 && p.k > 0 && p.m * p.n >= kLarge / p.k;
}
// Bytes of the two copies; 0: the factors are multiplied as they are.
inline std::size_t copies_bytes(const RowMajorProduct& p, ProductPrecision precision) {
  return multiplies_copies(p, precision) ? copy_of_a(p).bytes() + copy_of_b(p).bytes() : 0;
}

struct alignas(16) RoundedPack {
  unsigned words[4];
};

struct RoundBody {
  const float* from;
  RoundedCopy copy;
  RoundedPack* to;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const {
    const auto across = static_cast<unsigned>(copy.pitch / kRoundedTogether), at = static_cast<unsigned>(i);
    const std::int64_t row = at / across, column = at % across * kRoundedTogether;
    const float* const x = from + row * copy.columns + column;
    RoundedPack pack;
    GRAPHRUN_UNROLL
    for (int w = 0; w < 4; ++w) {
      const bool first = row < copy.rows && column + 2 * w < copy.columns;
      const bool second = row < copy.rows && column + 2 * w + 1 < copy.columns;
      const float two[2] = {first ? x[2 * w] : 0.f, second ? x[2 * w + 1] : 0.f};
      pack.words[w] = BFloat16::word(two);
    }
    to[i] = pack;
  }
};
inline void round_factor(void* stream, const RoundedCopy& copy, const float* from, void* to) {
  const std::int64_t packs = copy.padded_rows * copy.pitch / kRoundedTogether;
  if (packs == 0) return;
  launch(stream, grid_of_elements(packs), &elements_kernel<RoundBody>, RoundBody{from, copy, static_cast<RoundedPack*>(to)},
         packs);
}

// y = op(a) op(b), from a's copy and b, which is copied to `to`.
inline void multiply_copies(void* stream, const RowMajorProduct& p, const void* copied_a, const float* b, void* to, float* y) {
  const RoundedCopy of_a = copy_of_a(p), of_b = copy_of_b(p);
  round_factor(stream, of_b, b, to);
  ColumnMajorCall call = column_major(p);
  call.k = round_up(p.k, kRoundedTogether);
  call.first_rows = of_b.pitch, call.second_rows = of_a.pitch;
  multiply_column_major(stream, call, static_cast<const std::uint16_t*>(to), static_cast<const std::uint16_t*>(copied_a), y);
}

}  // namespace graphrun::cuda
