#include "runtime/cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/cuda/generated.h"
#include "runtime/cuda/toolkit.h"

namespace graphrun::cuda {
namespace {

// The library's types, as <nvrtc.h> declares them: the library is loaded at run time, so its header is not needed to build.
using Program = struct NvrtcProgram*;
using Status = int;  // 0: success

// The C headers that texts include.
constexpr DeviceHeader kStandardHeaders[] = {
    {"cstdint",
     "#pragma once\nnamespace std {\ntypedef signed char int8_t;\ntypedef unsigned char uint8_t;\ntypedef int int32_t;\n"
     "typedef unsigned int uint32_t;\ntypedef long int64_t;\ntypedef unsigned long uint64_t;\ntypedef unsigned long "
     "uintptr_t;\n}\n"},
    {"cstddef", "#pragma once\nnamespace std {\ntypedef unsigned long size_t;\n}\n"},
};

void* open_library(std::string& why) {
  if (void* library = open_of_toolkit({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})) return library;
  why = "there is no libnvrtc.so of CUDA 12 or 13 on the library search path, nor under $CUDA_HOME or /usr/local/cuda";
  return nullptr;
}

}  // namespace

struct Nvrtc::Functions {
  Status (*version)(int*, int*) = nullptr;
  Status (*architecture_count)(int*) = nullptr;
  Status (*architectures)(int*) = nullptr;
  Status (*create)(Program*, const char* text, const char* name, int headers, const char* const* texts,
                   const char* const* names) = nullptr;
  Status (*destroy)(Program*) = nullptr;
  Status (*compile)(Program, int, const char* const*) = nullptr;
  Status (*log_size)(Program, std::size_t*) = nullptr;
  Status (*log)(Program, char*) = nullptr;
  Status (*cubin_size)(Program, std::size_t*) = nullptr;
  Status (*cubin)(Program, char*) = nullptr;
  Status (*ptx_size)(Program, std::size_t*) = nullptr;
  Status (*ptx)(Program, char*) = nullptr;

  // False if the library lacks one of the functions.
  bool find(void* library) {
    bool all = true;
    const auto bind = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      all = all && function != nullptr;
    };
    bind(version, "nvrtcVersion");
    bind(architecture_count, "nvrtcGetNumSupportedArchs");
    bind(architectures, "nvrtcGetSupportedArchs");
    bind(create, "nvrtcCreateProgram");
    bind(destroy, "nvrtcDestroyProgram");
    bind(compile, "nvrtcCompileProgram");
    bind(log_size, "nvrtcGetProgramLogSize");
    bind(log, "nvrtcGetProgramLog");
    bind(cubin_size, "nvrtcGetCUBINSize");
    bind(cubin, "nvrtcGetCUBIN");
    bind(ptx_size, "nvrtcGetPTXSize");
    bind(ptx, "nvrtcGetPTX");
    return all;
  }
};

Nvrtc::Nvrtc(std::shared_ptr<const Functions> functions) : functions_(std::move(functions)) {
  int major = 0, minor = 0, count = 0;
  functions_->version(&major, &minor);
  version_ = std::to_string(major) + "." + std::to_string(minor);
  functions_->architecture_count(&count);
  architectures_.resize(static_cast<std::size_t>(count));
  functions_->architectures(architectures_.data());
  std::sort(architectures_.begin(), architectures_.end());
}

const Nvrtc* Nvrtc::instance(std::string& why) {
  static std::string missing;
  static const Nvrtc* const loaded = []() -> const Nvrtc* {
    void* const library = open_library(missing);
    if (library == nullptr) return nullptr;
    auto functions = std::make_shared<Functions>();
    if (functions->find(library)) return new Nvrtc(std::move(functions));
    missing = "its libnvrtc.so is older than CUDA 12";
    return nullptr;
  }();
  why = missing;
  return loaded;
}

std::string Nvrtc::compile(const std::string& text, const std::string& architecture, bool optimize) const {
  std::vector<const char*> names, texts;
  const auto add = [&](const DeviceHeader& header) { names.push_back(header.name), texts.push_back(header.text); };
  for (const DeviceHeader& header : kStandardHeaders) add(header);
  for (const DeviceHeader& header : device_headers()) add(header);
  Program program = nullptr;
  GRAPHRUN_CHECK(functions_->create(&program, text.c_str(), "graphrun.cu", static_cast<int>(names.size()), texts.data(),
                                    names.data()) == 0,
                 "nvrtcCreateProgram");
  const std::shared_ptr<void> destroyed(nullptr, [&](void*) { functions_->destroy(&program); });
  const std::string target = "--gpu-architecture=" + architecture;
  // Functions without __host__ or __device__, such as those of runtime/base/random.h, are for the device.
  const char* const options[] = {target.c_str(), "--std=c++20", "--device-as-default-execution-space", "--device-debug"};
  const Status status = functions_->compile(program, optimize ? 3 : 4, options);
  std::size_t size = 0;
  if (status != 0) {
    functions_->log_size(program, &size);
    std::string log(size, '\0');
    functions_->log(program, log.data());
    throw InternalError("NVRTC " + version_ + " does not compile, for " + architecture + ":\n" + log.c_str() + "\n" + text);
  }
  const bool machine_code = architecture.rfind("sm_", 0) == 0;
  (machine_code ? functions_->cubin_size : functions_->ptx_size)(program, &size);
  std::string code(size, '\0');
  (machine_code ? functions_->cubin : functions_->ptx)(program, code.data());
  return code;
}

std::string architecture_for(int device, const std::vector<int>& known) {
  int nearest = 0;
  for (int a : known) {
    if (a <= device) nearest = std::max(nearest, a);
  }
  if (nearest == 0) {
    throw UserError(ExitCode::kRunFailed, "E0513 cuda",
                    "this CUDA's compiler knows no device as old as compute capability " + std::to_string(device / 10) + "." +
                        std::to_string(device % 10));
  }
  return (nearest / 10 == device / 10 ? "sm_" : "compute_") + std::to_string(nearest);
}

}  // namespace graphrun::cuda
