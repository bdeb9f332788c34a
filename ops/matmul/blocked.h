// Large float32 products of factors that change from run to run: a core packs part of the right factor in panels, and
// multiplies rows by them while they are cached.
#pragma once

#include <cstddef>

#include "ops/matmul/product.h"

namespace graphrun {

// Whether this is faster than the plain kernel.
bool blocks_pay(const MatrixProduct& product);
// Blocks of fewer rows or columns than this are not worth the copies of factors.
inline constexpr std::int64_t kFewestOfBlock = 96;

// Computes one block on the calling thread. Each element's sum adds its terms in their order, wherever its block begins.
// `scratch`: block_scratch(product) bytes, aligned to kAlignment, for copies of parts of the factors.
void multiply_blocked(const MatrixProduct& product, const ProductBlock& block, const float* a, const float* b, float* c,
                      void* scratch);
std::size_t block_scratch(const MatrixProduct& product);

}  // namespace graphrun
