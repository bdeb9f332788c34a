// Products of pairs of bfloat16 (ops/matmul/instructions/pairs.h) with AVX512_BF16. Each result adds its pairs one after the
// other, so its bits do not depend on the number of rows or columns.
#pragma once

#include "ops/matmul/instructions/pairs.h"

namespace graphrun {

// Requires multiplies_bfloat16() (runtime/base/processor.h), an even number of terms and at least one column.
void multiply_pairs_by_dots(const PairBlock& block);

}  // namespace graphrun
