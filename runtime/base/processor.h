// What the processor at hand can do.
#pragma once

#include "runtime/base/target.h"

namespace graphrun {

// Whether a program may write machine code and run it. Not where memory may not be both written and executed: under systemd's
// MemoryDenyWriteExecute, under SELinux without execmem. oneDNN, libxsmm and asmjit all need it; without it products and
// pointwise operators use kernels compiled beforehand. Tried once.
bool may_write_code();

// Whether it multiplies pairs of bfloat16 and adds to float32 (x86's AVX512_BF16), and libxsmm may write code for that: twice
// as many products at once as of float32.
bool multiplies_bfloat16();

// Whether kernels of the CPU round the factors of products as asked; else they multiply float32.
inline bool rounds_on_cpu(ProductPrecision products) {
  return products == ProductPrecision::kBFloat16 && multiplies_bfloat16();
}

}  // namespace graphrun
