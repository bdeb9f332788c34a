// Kernels whose text is generated at run time, for pointwise groups and recurrent cells. CUDA's library compiles the text with
// NVRTC (generated.cu), the emulated device compiles the same bytes with the host's compiler (generated_emulation.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/cuda/launch.h"

namespace graphrun::cuda {

class GeneratedKernel {
 public:
  virtual ~GeneratedKernel() = default;
  // `arguments`: the bytes of the entry's struct, aligned to 8. The first launch compiles this kernel and all others that were
  // requested before it.
  virtual void launch(void* stream, const Grid& grid, std::span<const std::byte> arguments) = 0;
};

// The kernel that `text` defines as GRAPHRUN_ENTRY(entry, …), for the device in use (Backend::use). The text may include what
// device_headers() names, and all its own names are in a namespace of its own. On one device, equal texts are one kernel.
std::shared_ptr<GeneratedKernel> generated_kernel(const std::string& entry, const std::string& text);

// The files that texts may include, with the names in their include directives.
struct DeviceHeader {
  const char* name;
  const char* text;
};
std::span<const DeviceHeader> device_headers();

}  // namespace graphrun::cuda
