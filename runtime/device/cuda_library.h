// CUDA as a separate library, loaded on demand. Loading it registers its kernels; its backend opens a device.
#pragma once

#include <string>

#include "runtime/device/backend.h"

namespace graphrun {

// Loads libgraphrun_cuda.so from the folder of the core library, or the file that the environment variable
// GRAPHRUN_CUDA_LIBRARY names, and opens device `ordinal`. cuda_device() returns the device opened last. Throws UserError
// (kUsage, E0508) naming what is missing: the library, one of its dependencies, the driver, or the device.
Backend& open_cuda(int ordinal);
// The device opened last; opens device 0 if there is none yet.
Backend& cuda_device();

// The library's entry point: opens the device, or stores in `why` the reason it cannot. The backend lives as long as the
// program.
using OpenDevice = Backend* (*)(int ordinal, std::string& why);
inline constexpr const char* kOpenDeviceSymbol = "graphrun_open_device";

}  // namespace graphrun
