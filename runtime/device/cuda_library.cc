#include "runtime/device/cuda_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/base/module.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(int ordinal, const std::string& why) {
  const std::string name = ordinal == 0 ? "cuda" : "cuda:" + std::to_string(ordinal);
  throw UserError(ExitCode::kUsage, "E0508 no-device", "there is no device '" + name + "': " + why,
                  {"help: --device cpu runs everything; CUDA needs a build that found the toolkit, NVIDIA's driver and a GPU"});
}

fs::path library_path() {
  if (const char* named = std::getenv("GRAPHRUN_CUDA_LIBRARY"); named != nullptr && *named != '\0') return named;
  return library_folder() / "libgraphrun_cuda.so";
}

const DeviceLibrary& load(int ordinal) {
  const fs::path path = library_path();
  if (!fs::exists(path)) refuse(ordinal, "this graphrun was built without CUDA (no " + path.string() + ")");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) refuse(ordinal, std::string("its library does not load: ") + dlerror());
  const auto find = reinterpret_cast<FindDeviceLibrary>(dlsym(library, kDeviceLibrarySymbol));
  if (find == nullptr) refuse(ordinal, path.string() + " is no library of graphrun's");
  return *find();
}

// What has been opened so far.
struct Opened {
  std::mutex mutex;
  const DeviceLibrary* library = nullptr;
  std::map<int, std::unique_ptr<Device>> devices;  // by ordinal
};

}  // namespace

const Device& cuda_device(int ordinal) {
  // Never destroyed: tensors that live until the program ends may still give memory back to their device.
  static Opened& opened = *new Opened;
  const std::lock_guard lock(opened.mutex);
  if (const auto found = opened.devices.find(ordinal); found != opened.devices.end()) return *found->second;
  if (opened.library == nullptr) opened.library = &load(ordinal);
  std::string why;
  std::unique_ptr<Backend> backend = opened.library->open(ordinal, why);
  if (backend == nullptr) refuse(ordinal, why);
  auto device = std::make_unique<Device>(*opened.library, std::move(backend));
  return *opened.devices.emplace(ordinal, std::move(device)).first->second;
}

}  // namespace graphrun
