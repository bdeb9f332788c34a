// Opens devices of the CUDA library, or of the one that emulates it.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/tensor/backend.h"

namespace graphrun::cuda {

// False if this variable of the environment is 0, which disables clusters or loops by rows, for comparison.
inline bool is_wanted(const char* variable) {
  const char* const asked = std::getenv(variable);
  return asked == nullptr || std::string_view(asked) != "0";
}

// Device `ordinal`, counted from 0. Null if it cannot be opened, with the reason in `why`.
std::unique_ptr<Backend> open_backend(int ordinal, std::string& why);

// The number of devices. 0 if there are none, with the reason in `why`.
int count_devices(std::string& why);

// Whether devices of this compute capability (its first number) multiply TF32 and bfloat16: runtime/cuda/matrix_units.h.
constexpr bool has_matrix_units(int major) { return major >= 8; }

}  // namespace graphrun::cuda
