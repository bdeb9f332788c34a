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

// The library; null if it cannot be loaded, with the reason in `why`.
const DeviceLibrary* load(std::string& why) {
  const fs::path path = library_path();
  if (!fs::exists(path)) return why = "this graphrun was built without CUDA (no " + path.string() + ")", nullptr;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return why = std::string("its library does not load: ") + dlerror(), nullptr;
  const auto find = reinterpret_cast<FindDeviceLibrary>(dlsym(library, kDeviceLibrarySymbol));
  if (find == nullptr) return why = path.string() + " is no library of graphrun's", nullptr;
  return find();
}

// What has been opened so far.
struct Opened {
  std::mutex mutex;
  const DeviceLibrary* library = nullptr;
  std::map<int, std::unique_ptr<Device>> devices;  // by ordinal

  // Never destroyed: tensors that live until the program ends may still give memory back to their device.
  static Opened& instance() {
    static Opened& opened = *new Opened;
    return opened;
  }
};

// Null if there is no such device, with the reason in `why`.
const Device* open(int ordinal, bool takes_emulated, std::string& why) {
  Opened& opened = Opened::instance();
  const std::lock_guard lock(opened.mutex);
  if (opened.library == nullptr) opened.library = load(why);
  if (opened.library == nullptr || (opened.library->emulated && !takes_emulated)) return nullptr;
  if (const auto found = opened.devices.find(ordinal); found != opened.devices.end()) return found->second.get();
  std::unique_ptr<Backend> backend = opened.library->open(ordinal, why);
  if (backend == nullptr) return nullptr;
  auto device = std::make_unique<Device>(*opened.library, std::move(backend));
  return opened.devices.emplace(ordinal, std::move(device)).first->second.get();
}

}  // namespace

const Device& cuda_device(int ordinal) {
  std::string why;
  const Device* const device = open(ordinal, true, why);
  if (device == nullptr) refuse(ordinal, why);
  return *device;
}

int cuda_device_count() {
  Opened& opened = Opened::instance();
  const std::lock_guard lock(opened.mutex);
  std::string why;
  if (opened.library == nullptr) opened.library = load(why);
  const int count = opened.library == nullptr ? 0 : opened.library->count(why);
  if (count == 0) refuse(0, why);
  return count;
}

const Device* gpu_or_null() {
  // Look for the driver first: loading cuBLAS takes longer than the rest of a program's start.
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  if (driver == nullptr) return nullptr;
  dlclose(driver);
  std::string why;
  return open(0, false, why);
}

}  // namespace graphrun
