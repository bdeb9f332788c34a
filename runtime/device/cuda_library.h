// CUDA as a library of its own, loaded when it is asked for: its kernels enter the registry then, and its backend opens a
// device.
#pragma once

#include <string>

#include "runtime/device/backend.h"

namespace graphrun {

// Loads libgraphrun_cuda.so from beside the core's library, or what the environment's GRAPHRUN_CUDA_LIBRARY names, and opens
// device `ordinal`. The device that was opened last is cuda_device(). Throws UserError (kUsage, E0508) that says what is
// missing: the library, one that it needs, the driver, a device of that number.
Backend& open_cuda(int ordinal);
// Opens device 0 where none was opened yet.
Backend& cuda_device();

// What the library has: opens the device, or says in `why` why it cannot. Lives as long as the program.
using OpenDevice = Backend* (*)(int ordinal, std::string& why);
inline constexpr const char* kOpenDeviceSymbol = "graphrun_open_device";

}  // namespace graphrun
