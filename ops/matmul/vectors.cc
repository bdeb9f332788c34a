#include "ops/matmul/vectors.h"

namespace graphrun {

bool are_vector_products(const ProductGroup& group) {
  constexpr std::int64_t kMostInner = 8192, kMostColumns = 1 << 20;  // a few blocks would take long to read more
  if (group.products.empty() || group.products.size() > ProductGroup::kMostFactors) return false;
  for (std::size_t i = 0; i < group.products.size(); ++i) {
    const MatrixProduct& p = group.products[i];
    if (p.m == 0 || p.m > VectorProducts::kMostRows || p.transpose_a || (p.accumulate && i == 0)) return false;
    if (p.n == 0 || p.n > kMostColumns || p.k == 0 || p.k > kMostInner) return false;
    if (p.transpose_b != group.products[0].transpose_b) return false;
  }
  return true;
}

int vector_parts(const ProductGroup& group, const DeviceLimits& limits) {
  // Three blocks for each multiprocessor of a large device, which then all run at once; rows that pay for a block.
  constexpr std::int64_t kMostBlocks = 396, kFewestRows = 64, kTileColumns = 32;
  constexpr std::size_t kSizes = 3;  // of clusters: 2, 4 and 8, which every device with clusters supports
  const MatrixProduct& first = group.products[0];
  if (first.transpose_b) return 1;  // warps read whole rows of it, one for each column
  const std::int64_t tiles = (first.n + kTileColumns - 1) / kTileColumns * static_cast<std::int64_t>(group.groups());
  std::int64_t rows = 0;
  for (std::size_t t = 0; t < group.terms(); ++t) rows += group.products[t].k;
  int parts = 1;
  for (std::size_t i = 0; i < kSizes && limits.clusters[i] > 0; ++i) {
    if (2 * tiles * parts > kMostBlocks || rows < 2 * parts * kFewestRows) break;
    parts = DeviceLimits::cluster_size(i);
  }
  return parts;
}

}  // namespace graphrun
