// The entry point of CUDA's library, and of the one that emulates it: all that a device takes from there.
#include "ops/recurrent/launches.h"
#include "runtime/cuda/backend.h"
#include "runtime/device/cuda_library.h"

namespace graphrun {

template <>
KernelRegistry& registered_kernels<DeviceKind::kCuda>() {
  static KernelRegistry registry;
  return registry;
}

}  // namespace graphrun

// Called once the library is loaded, and so with every kernel registered.
extern "C" const graphrun::DeviceLibrary* graphrun_device_library() {
  using namespace graphrun;
  static const DeviceLibrary library = [] {
    KernelRegistry& kernels = registered_kernels<DeviceKind::kCuda>();
    kernels.seal();
    return DeviceLibrary{cuda::open_backend, kernels, {launch_by_columns, launch_by_rows}};
  }();
  return &library;
}
