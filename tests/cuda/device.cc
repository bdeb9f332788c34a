#include "tests/cuda/device.h"

#include <dlfcn.h>

#include <cstdlib>

#include "runtime/device/cuda_library.h"
#include "tests/folders.h"

namespace graphrun::tests {
namespace {

// A function that the loaded library exports, or null.
template <class Function>
Function function_of_device(const char* name) {
  tested_device();
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

const Device& tested_device() {
  static const Device& device = []() -> const Device& {
    setenv("GRAPHRUN_CUDA_LIBRARY", (build_folder() + "/libgraphrun_cuda_emulated.so").c_str(), 0);
    return cuda_device(0);
  }();
  return device;
}

bool is_emulated() { return function_of_device<void*>("graphrun_emulate_backwards") != nullptr; }

void emulate_backwards(bool backwards) { function_of_device<void (*)(bool)>("graphrun_emulate_backwards")(backwards); }

DeviceLimits& emulated_limits(const Device& device) {
  return *function_of_device<DeviceLimits* (*)(Backend*)>("graphrun_emulated_limits")(&device.backend());
}

std::size_t emulated_bytes() {
  return function_of_device<std::size_t (*)(Backend*)>("graphrun_emulated_bytes")(&tested_device().backend());
}

std::size_t emulated_launches() { return function_of_device<std::size_t (*)()>("graphrun_emulated_launches")(); }

std::set<std::string> generated_texts() {
  using Visitor = void (*)(const char*, void*);
  std::set<std::string> all;
  function_of_device<void (*)(Visitor, void*)>("graphrun_visit_generated")(
      [](const char* text, void* to) { static_cast<std::set<std::string>*>(to)->insert(text); }, &all);
  return all;
}

}  // namespace graphrun::tests
