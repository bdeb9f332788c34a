#include "ops/matmul/vectors.h"

namespace graphrun {

bool are_vector_products(const ProductGroup& group) {
  constexpr std::int64_t kMostInner = 8192, kMostColumns = 1 << 20;  // beyond, a few blocks would read for long
  if (group.products.empty() || group.products.size() > VectorProducts::kMostFactors) return false;
  for (std::size_t i = 0; i < group.products.size(); ++i) {
    const MatrixProduct& p = group.products[i];
    if (p.m == 0 || p.m > VectorProducts::kMostRows || p.transpose_a || (p.accumulate && i == 0)) return false;
    if (p.n == 0 || p.n > kMostColumns || p.k == 0 || p.k > kMostInner) return false;
    if (p.transpose_b != group.products[0].transpose_b) return false;
  }
  return true;
}

}  // namespace graphrun
