// What the processor at hand can do.
#pragma once

#include "runtime/target.h"

namespace graphrun {

// Whether it multiplies pairs of bfloat16 and adds to float32 (x86's AVX512_BF16), and libxsmm writes code for that: twice as
// many products at once as of float32.
bool multiplies_bfloat16();

// Whether kernels of the CPU round the factors of products as asked; else they multiply float32.
inline bool rounds_on_cpu(ProductPrecision products) {
  return products == ProductPrecision::kBFloat16 && multiplies_bfloat16();
}

}  // namespace graphrun
