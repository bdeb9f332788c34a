// Equality of tensors to the last bit.
#pragma once

#include <cstring>

#include "runtime/tensor/tensor.h"

namespace graphrun::tests {

// Whether two tensors have the same dtype, sizes and bits.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace graphrun::tests
