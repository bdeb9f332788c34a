// What the current processor can do.
#pragma once

#include "runtime/base/rounding.h"

namespace graphrun {

// Whether a program may write machine code and run it. It may not where the system forbids memory to be both written and
// executed: under systemd's MemoryDenyWriteExecute, or under SELinux without execmem. asmjit needs it; without it
// pointwise ops use precompiled kernels. Tried once.
bool may_write_code();

// Whether the processor multiplies pairs of bfloat16 and accumulates in float32 (x86's AVX512_BF16). On Zen 4 that has twice
// the throughput of float32 products; with AMX (below), there is a faster way.
bool multiplies_bfloat16();

// Whether the processor multiplies tiles of 8-bit integers or of bfloat16 (x86's AMX), and the system lets this process use
// them.
bool amx_multiplies_int8();
bool amx_multiplies_bfloat16();

// Whether a product of few rows gains when its code prefetches the weights that it streams through. A core of a Xeon prefetches
// only within a page of 4096 bytes by itself. AMD's Zen 4 needs no help, and the instructions cost it up to a quarter of the
// time, whatever the distance.
bool gains_from_prefetching();

// Whether CPU kernels round the factors of products to the requested precision; otherwise they multiply float32.
inline bool rounds_on_cpu(ProductPrecision products) {
  return products == ProductPrecision::kBFloat16 && multiplies_bfloat16();
}

}  // namespace graphrun
