// The entry point of CUDA's library and of its emulation: everything that a device takes from the library.
#include "ops/recurrent/launches.h"
#include "runtime/cuda/backend.h"
#include "runtime/cuda/nccl.h"
#include "runtime/device/cuda_library.h"

namespace graphrun {
namespace {

#if defined(__CUDACC__)
constexpr bool kEmulated = false;
#else
constexpr bool kEmulated = true;
#endif

}  // namespace

template <>
KernelRegistry& registered_kernels<DeviceKind::kCuda>() {
  static KernelRegistry registry;
  return registry;
}

}  // namespace graphrun

// Called after the library is loaded, when every kernel is registered.
extern "C" const graphrun::DeviceLibrary* graphrun_device_library() {
  using namespace graphrun;
  static const DeviceLibrary library = [] {
    KernelRegistry& kernels = registered_kernels<DeviceKind::kCuda>();
    kernels.seal();
    return DeviceLibrary{cuda::open_backend,
                         cuda::count_devices,
                         cuda::nccl_version,
                         cuda::join_nccl,
                         kernels,
                         {launch_by_columns, launch_by_rows},
                         kEmulated};
  }();
  return &library;
}
