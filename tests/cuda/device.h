// The device that these tests run on: the emulated one, which runs the kernels of .cu files in the host's memory, or a GPU if
// $GRAPHRUN_CUDA_LIBRARY names CUDA's own library.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "runtime/device/device.h"

namespace graphrun::tests {

// Opened once.
const Device& tested_device();
bool is_emulated();

// The following are for the emulated device only. Sets whether the threads of a block run from the last to the first.
void emulate_backwards(bool backwards);
// The limits of the device for kernels made from now on.
DeviceLimits& emulated_limits(const Device& device = tested_device());
// The bytes of its memory that are allocated.
std::size_t emulated_bytes();
// How many kernels have run on emulated devices.
std::size_t emulated_launches();
// The texts of all kernels generated so far.
std::set<std::string> generated_texts();

}  // namespace graphrun::tests
