#include "tests/cuda/emulated.h"

#include <dlfcn.h>

#include <cstdlib>

#include "runtime/cuda_library.h"

namespace graphrun::testing {

Backend& emulated_device() {
  static Backend& device = []() -> Backend& {
    setenv("GRAPHRUN_CUDA_LIBRARY", GRAPHRUN_BINARY_DIR "/libgraphrun_cuda_emulated.so", 1);
    return open_cuda(0);
  }();
  return device;
}

void emulate_backwards(bool backwards) {
  emulated_device();
  reinterpret_cast<void (*)(bool)>(dlsym(RTLD_DEFAULT, "graphrun_emulate_backwards"))(backwards);
}

}  // namespace graphrun::testing
