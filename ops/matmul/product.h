// One matrix product on the CPU: C [m, n] = op(A) [m, k] · op(B) [k, n], row-major.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/threads/threads.h"

namespace graphrun {

struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;  // A is stored [k, m], B [n, k]
  bool accumulate = false;                        // added to C; else C is overwritten

  std::int64_t a_row() const { return transpose_a ? m : k; }  // the stored rows' lengths
  std::int64_t b_row() const { return transpose_b ? k : n; }
  double operations() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// A part of the result: rows [row, row + rows), columns [column, column + columns).
struct ProductBlock {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
};

// How a product is shared out: a grid of blocks of the result. The grid depends on the sizes alone, so that what is computed
// for an element does not depend on the number of threads.
struct ProductGrid {
  std::int64_t rows = 1, columns = 1;

  // `together`: of how many such products that run side by side this is one: the more they are, the larger its blocks.
  explicit ProductGrid(const Product& product, std::int64_t together = 1);
  std::int64_t blocks() const { return rows * columns; }
  ProductBlock block(const Product& product, std::int64_t index) const;
};

// Calls fn(i) for blocks 0 to count of about so many operations each, side by side as far as that is worth a thread.
template <class Fn>
void run_blocks(std::int64_t count, double operations_each, Fn&& fn) {
  constexpr double kOperationsPerThread = 250e3;
  const auto grain = static_cast<std::int64_t>(std::max(1.0, kOperationsPerThread / std::max(1.0, operations_each)));
  parallel_ranges(count, std::min(grain, std::max<std::int64_t>(count, 1)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) fn(i);
  });
}

// Computes one block on the calling thread. float: oneDNN, or the plain kernel where the product is tiny.
void multiply(const Product& product, const ProductBlock& block, const float* a, const float* b, float* c);
void multiply(const Product& product, const ProductBlock& block, const double* a, const double* b, double* c);

// The plain kernel: cache-blocked, any element type that has one, every instruction set (ops/matmul/plain.cc).
void multiply_plainly(const Product& product, const ProductBlock& block, const float* a, const float* b, float* c);
void multiply_plainly(const Product& product, const ProductBlock& block, const double* a, const double* b, double* c);

}  // namespace graphrun
