#include "ops/matmul/product.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "ops/matmul/blocked.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

std::int64_t blocks_for(double operations) {
  if (operations < 2e6) return 1;
  if (operations < 64e6) return 2;
  if (operations < 256e6) return 4;
  if (operations < 1e9) return 8;
  return operations < 8e9 ? 16 : 32;
}

constexpr double kTransposed = 2.5;  // the cost of reading a transposed factor, relative to an untransposed one

// The least number of block rows: with a transposed A, larger blocks fall out of the cache before they are reused.
std::int64_t rows_at_least(const MatrixProduct& product) {
  constexpr std::int64_t kMostRows = 128;
  if (!product.transpose_a) return 1;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>((product.m + kMostRows - 1) / kMostRows)));
}

}  // namespace

ProductGrid::ProductGrid(const MatrixProduct& product, std::int64_t together) {
  if (blocks_pay(product)) {
    // The same number of blocks for each thread, as tall as possible, since each block of rows packs the right factor.
    const std::int64_t all = threads(), wanted = all / std::gcd(all, together);
    columns = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(product.n / kFewestOfBlock, 1));
    rows = std::clamp<std::int64_t>(wanted / columns, 1, std::max<std::int64_t>(product.m / kFewestOfBlock, 1));
    return;
  }
  const double all = product.operations() * static_cast<double>(together);
  const auto wanted = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>((blocks_for(all) + together - 1) / std::max<std::int64_t>(together, 1))));
  // Of all grids with that many blocks, choose the one that reads least: each column of blocks reads A once, each row reads B
  // once.
  double best = 0;
  for (std::int64_t r = 1; r <= std::max(wanted, rows_at_least(product)); r *= 2) {
    const std::int64_t c = std::max<std::int64_t>(1, wanted / r);
    if ((r > 1 && product.m / r < 8) || (c > 1 && product.n / c < 16)) continue;
    const double a = static_cast<double>(product.m) * (product.transpose_a ? kTransposed : 1);
    const double b = static_cast<double>(product.n) * (product.transpose_b ? kTransposed : 1);
    const double reads = static_cast<double>(c) * a + static_cast<double>(r) * b;
    if (best == 0 || reads < best || r <= rows_at_least(product)) best = reads, rows = r, columns = c;
  }
}

ProductBlock ProductGrid::block(const MatrixProduct& product, std::int64_t index) const {
  // Cut at multiples of 8 rows and 48 columns, the steps of the micro-kernels; 16 columns if the result is narrow.
  const std::int64_t r = index / columns, c = index % columns, step = product.n / columns >= 144 ? 48 : 16;
  ProductBlock block;
  block.row = part_begin(product.m, rows, 8, r);
  block.rows = part_begin(product.m, rows, 8, r + 1) - block.row;
  block.column = part_begin(product.n, columns, step, c);
  block.columns = part_begin(product.n, columns, step, c + 1) - block.column;
  return block;
}

BlockRunner::BlockRunner(std::int64_t count, std::size_t scratch)
    : count_(count), lanes_(scratch > 0 ? std::min<std::int64_t>(threads(), count) : count), scratch_(scratch) {}

std::size_t scratch_of_block(const MatrixProduct& product, DType dtype) {
  return dtype == DType::kFloat32 && blocks_pay(product) ? block_scratch(product) : 0;
}

void multiply(const MatrixProduct& p, const ProductBlock& at, const float* a, const float* b, float* c, void* scratch) {
  if (blocks_pay(p)) return multiply_blocked(p, at, a, b, c, scratch);
  multiply_plainly(p, at, a, b, c);
}

void multiply(const MatrixProduct& p, const ProductBlock& at, const double* a, const double* b, double* c, void*) {
  multiply_plainly(p, at, a, b, c);
}

}  // namespace graphrun
