// Dispatches from a dtype to a C++ type when kernels are bound.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

namespace graphrun {

// Calls make(T{}) with the C++ type of a dtype and returns its result. A dtype that the schema does not allow is a bug.
template <class Make>
auto with_float(DType dtype, const Make& make) {
  if (dtype == DType::kFloat32) return make(float{});
  GRAPHRUN_CHECK(dtype == DType::kFloat64, "no kernel for " + std::string(name_of(dtype)));
  return make(double{});
}

template <class Make>
auto with_number(DType dtype, const Make& make) {
  if (dtype == DType::kInt32) return make(std::int32_t{});
  return with_float(dtype, make);
}

// Bools are passed as std::uint8_t.
template <class Make>
auto with_any(DType dtype, const Make& make) {
  if (dtype == DType::kBool) return make(std::uint8_t{});
  return with_number(dtype, make);
}

// For kernels that only move elements: an unsigned integer of the same size.
template <class Make>
auto with_bits(DType dtype, const Make& make) {
  switch (size_of(dtype)) {
    case 1: return make(std::uint8_t{});
    case 4: return make(std::uint32_t{});
    default: return make(std::uint64_t{});
  }
}

}  // namespace graphrun
