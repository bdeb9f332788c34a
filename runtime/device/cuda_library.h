// CUDA as a separate library, loaded on demand.
#pragma once

#include "runtime/device/device.h"

namespace graphrun {

// CUDA device `ordinal`, opened by the first call with this number. The library is loaded by the first call of all:
// libgraphrun_cuda.so from the folder of the core library, or the file that the environment variable GRAPHRUN_CUDA_LIBRARY
// names. Throws UserError (kUsage, E0508) naming what is missing: the library, one of its dependencies, the driver, or the
// device.
const Device& cuda_device(int ordinal);

// The number of CUDA devices, at least 1. Throws like cuda_device if there is none.
int cuda_device_count();

// GPU 0, or null if there is none that graphrun can use: no library, no driver, or only the emulated device.
const Device* gpu_or_null();

// The library's entry point: what the library offers, valid until the program ends.
using FindDeviceLibrary = const DeviceLibrary* (*)();
inline constexpr const char* kDeviceLibrarySymbol = "graphrun_device_library";

}  // namespace graphrun
