// One matrix product on the CPU: C [m, n] = op(A) [m, k] · op(B) [k, n], row-major.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/program/kernel.h"
#include "runtime/threads/threads.h"

namespace graphrun {

// The widest panel of a packed matrix: columns that are multiplied at once. Others are kColumnStep wide.
inline constexpr std::int64_t kMostPanel = 3 * kColumnStep;

struct MatrixProduct {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;  // A is stored as [k, m], B as [n, k]
  bool accumulate = false;                        // adds to C instead of overwriting it

  std::int64_t a_row() const { return transpose_a ? m : k; }  // the length of a stored row
  std::int64_t b_row() const { return transpose_b ? k : n; }
  double operations() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// A part of the result: rows [row, row + rows), columns [column, column + columns).
struct ProductBlock {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
};

// How a product is divided: a grid of blocks of the result. An element's value does not depend on the grid, so it does not
// depend on the number of threads either.
struct ProductGrid {
  std::int64_t rows = 1, columns = 1;

  // `together`: the number of such products that run concurrently; the more there are, the larger the blocks.
  explicit ProductGrid(const MatrixProduct& product, std::int64_t together = 1);
  std::int64_t blocks() const { return rows * columns; }
  ProductBlock block(const MatrixProduct& product, std::int64_t index) const;
};

// Runs blocks of products on several threads, each with its own scratch space. Made when a kernel is bound.
class BlockRunner {
 public:
  // For `count` blocks, which need `scratch` bytes each, a multiple of kAlignment.
  BlockRunner(std::int64_t count, std::size_t scratch);
  std::size_t workspace() const { return static_cast<std::size_t>(lanes_) * scratch_; }

  // Calls fn(i, scratch) for blocks 0 to count - 1 of about `operations_each` operations; see run_blocks.
  template <class Fn>
  void run(void* workspace, double operations_each, Fn&& fn) const;

 private:
  std::int64_t count_, lanes_;  // a lane: consecutive blocks that one thread computes
  std::size_t scratch_;         // of a lane, in bytes
};

// Calls fn(i) for blocks 0 to count - 1 of about `operations_each` operations, concurrently as far as threads pay off.
template <class Fn>
void run_blocks(std::int64_t count, double operations_each, Fn&& fn) {
  constexpr double kOperationsPerThread = 250e3;
  const auto grain = static_cast<std::int64_t>(std::max(1.0, kOperationsPerThread / std::max(1.0, operations_each)));
  parallel_ranges(count, std::min(grain, std::max<std::int64_t>(count, 1)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) fn(i);
  });
}

template <class Fn>
void BlockRunner::run(void* workspace, double operations_each, Fn&& fn) const {
  run_blocks(lanes_, operations_each * static_cast<double>(count_) / static_cast<double>(std::max<std::int64_t>(lanes_, 1)),
             [&](std::int64_t lane) {
               void* const scratch = static_cast<char*>(workspace) + static_cast<std::size_t>(lane) * scratch_;
               for (std::int64_t i = count_ * lane / lanes_; i < count_ * (lane + 1) / lanes_; ++i) fn(i, scratch);
             });
}

// Computes one block on the calling thread: in panels (ops/matmul/blocked.h) if it is float and that pays, otherwise with the
// plain kernel. `scratch`: scratch_of_block bytes.
void multiply(const MatrixProduct& product, const ProductBlock& block, const float* a, const float* b, float* c, void* scratch);
void multiply(const MatrixProduct& product, const ProductBlock& block, const double* a, const double* b, double* c,
              void* scratch);

// The scratch space of a block, in bytes, a multiple of kAlignment.
std::size_t scratch_of_block(const MatrixProduct& product, DType dtype);

// The plain kernel, for float and double, with every instruction set (ops/matmul/plain.cc).
void multiply_plainly(const MatrixProduct& product, const ProductBlock& block, const float* a, const float* b, float* c);
void multiply_plainly(const MatrixProduct& product, const ProductBlock& block, const double* a, const double* b, double* c);

}  // namespace graphrun
