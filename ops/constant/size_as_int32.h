// Sizes that a graph uses as numbers, shared with CUDA.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "runtime/base/status.h"

namespace graphrun {

// The size as an INT32. Throws UserError (kBadData, E0603) if it does not fit.
inline std::int32_t size_as_int32(std::int64_t size) {
  if (size > std::numeric_limits<std::int32_t>::max() || size < std::numeric_limits<std::int32_t>::min()) {
    throw UserError(ExitCode::kBadData, "E0603 size-out-of-range",
                    "the size " + std::to_string(size) + " is used as a number and does not fit INT32");
  }
  return static_cast<std::int32_t>(size);
}

}  // namespace graphrun
