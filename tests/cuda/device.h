// The device that these tests run on: the emulated one, kernels of .cu files in the host's memory, or, where
// $GRAPHRUN_CUDA_LIBRARY names CUDA's own library, a GPU.
#pragma once

#include <set>
#include <string>

#include "runtime/device/device.h"

namespace graphrun::tests {

// Loaded once.
const Device& tested_device();
bool is_emulated();

// Of the emulated device alone. Whether threads of a block run from the last to the first:
void emulate_backwards(bool backwards);
// What kernels are made for from here on.
DeviceLimits& emulated_limits(const Device& device = tested_device());
// The texts of all generated kernels so far.
std::set<std::string> generated_texts();

}  // namespace graphrun::tests
