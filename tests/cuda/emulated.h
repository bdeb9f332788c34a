// The emulated device, for tests: kernels of .cu files in the host's memory.
#pragma once

#include "runtime/backend.h"

namespace graphrun::testing {

// Loaded once.
Backend& emulated_device();
// Whether threads of a block run from the last to the first.
void emulate_backwards(bool backwards);

}  // namespace graphrun::testing
