#include "runtime/device/cuda_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/base/module.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

Backend* opened = nullptr;

[[noreturn]] void refuse(int ordinal, const std::string& why) {
  const std::string name = ordinal == 0 ? "cuda" : "cuda:" + std::to_string(ordinal);
  throw UserError(ExitCode::kUsage, "E0508 no-device", "there is no device '" + name + "': " + why,
                  {"help: --device cpu runs everything; CUDA needs a build that found the toolkit, NVIDIA's driver and a GPU"});
}

fs::path cuda_library() {
  if (const char* named = std::getenv("GRAPHRUN_CUDA_LIBRARY"); named != nullptr && *named != '\0') return named;
  return library_folder() / "libgraphrun_cuda.so";
}

OpenDevice load(int ordinal) {
  static OpenDevice open = nullptr;
  if (open != nullptr) return open;
  const fs::path path = cuda_library();
  if (!fs::exists(path)) refuse(ordinal, "this graphrun was built without CUDA (no " + path.string() + ")");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) refuse(ordinal, std::string("its library does not load: ") + dlerror());
  open = reinterpret_cast<OpenDevice>(dlsym(library, kOpenDeviceSymbol));
  if (open == nullptr) refuse(ordinal, path.string() + " is no library of graphrun's");
  return open;
}

}  // namespace

Backend& open_cuda(int ordinal) {
  std::string why;
  Backend* const backend = load(ordinal)(ordinal, why);
  if (backend == nullptr) refuse(ordinal, why);
  opened = backend;
  return *backend;
}

Backend& cuda_device() { return opened != nullptr ? *opened : open_cuda(0); }

}  // namespace graphrun
