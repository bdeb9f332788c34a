// Matrix products on a device: with cuBLAS or, on the emulated device, with loops that take cuBLAS's arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/base/rounding.h"

namespace graphrun::cuda {

// C [m, n] = op(A) [m, k] · op(B) [k, n], row-major; `count` such products at constant strides, 0 for a shared factor.
struct RowMajorProduct {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;  // A is stored [k, m], B [n, k]
  bool accumulate = false;                        // added to C
  std::int64_t count = 1, a_step = 0, b_step = 0, c_step = 0;
};

// The same for a column-major library: it sees every row-major matrix as its transpose, so the factors are swapped, Cᵀ = op(B)ᵀ
// op(A)ᵀ, and each keeps its transpose flag.
struct ColumnMajorCall {
  bool transpose_first, transpose_second;
  std::int64_t m, n, k;
  std::int64_t first_rows, second_rows, result_rows;  // leading dimensions
  std::int64_t first_step, second_step, result_step, count;
  double beta;
};
constexpr ColumnMajorCall column_major(const RowMajorProduct& p) {
  const auto at_least_one = [](std::int64_t rows) { return rows > 0 ? rows : 1; };
  return {p.transpose_b,
          p.transpose_a,
          p.n,
          p.m,
          p.k,
          at_least_one(p.transpose_b ? p.k : p.n),
          at_least_one(p.transpose_a ? p.m : p.k),
          at_least_one(p.n),
          p.b_step,
          p.a_step,
          p.c_step,
          p.count,
          p.accumulate ? 1.0 : 0.0};
}

// `first` is B, `second` is A. Products of floats accumulate in float; factors are rounded to `precision`.
void multiply_column_major(void* stream, const ColumnMajorCall& call, ProductPrecision precision, const float* first,
                           const float* second, float* result);
void multiply_column_major(void* stream, const ColumnMajorCall& call, ProductPrecision precision, const double* first,
                           const double* second, double* result);

// The same of factors that are stored as bfloat16, the upper halves of their bits; sums are float32.
void multiply_column_major(void* stream, const ColumnMajorCall& call, const std::uint16_t* first, const std::uint16_t* second,
                           float* result);
// Whether the device of a stream rounds the factors of products on its matrix units.
bool has_matrix_units_on(void* stream);

// Calls work(i, stream) for each i below `count`; the calls launch work that does not depend on each other. All of it starts
// after the work launched on `stream` before has ended, and ends before work launched there later starts. Small products do not
// fill a device: several at once take little longer than one.
void side_by_side(void* stream, std::size_t count, const std::function<void(std::size_t, void*)>& work);

template <class T>
void multiply_rows(void* stream, const RowMajorProduct& p, ProductPrecision precision, const T* a, const T* b, T* c) {
  if (p.m == 0 || p.n == 0 || p.count == 0) return;
  multiply_column_major(stream, column_major(p), precision, b, a, c);
}

}  // namespace graphrun::cuda
