// Generated kernels on CUDA: compiled by NVRTC for the device in use, and cached on disk.
#include "runtime/cuda/generated.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/code_cache.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/threads/own_threads.h"

namespace graphrun::cuda {
namespace {

class DeviceKernel;

// All kernels requested for a device, by entry, and those not compiled yet.
struct Kernels {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<DeviceKernel>> all;
  std::vector<std::shared_ptr<DeviceKernel>> waiting;
};

int device_in_use() {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  return device;
}

// The kernels of the device in use.
Kernels& kernels() {
  static std::mutex mutex;
  static std::map<int, Kernels> of_device;
  const std::lock_guard lock(mutex);
  return of_device[device_in_use()];
}
void compile_waiting();

class DeviceKernel : public GeneratedKernel {
 public:
  DeviceKernel(std::string entry, std::string text) : entry_(std::move(entry)), text_(std::move(text)) {}

  void launch(void* stream, const Grid& grid, std::span<const std::byte> arguments) override {
    if (kernel_ == nullptr && !failure_) compile_waiting();
    if (failure_) std::rethrow_exception(failure_);
    if (grid.shared > kSharedUnasked && grid.shared > shared_asked_) {
      check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel_), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(grid.shared)),
            "asking for a block's shared memory");
      shared_asked_ = grid.shared;
    }
    void* parameters[] = {const_cast<std::byte*>(arguments.data())};
    if (grid.cluster > kClusterUnasked && grid.cluster > cluster_asked_) {
      check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel_), cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            "asking for clusters");
      cluster_asked_ = grid.cluster;
    }
    cudaLaunchAttribute how[2];
    unsigned asked = 0;
    if (grid.together) {
      how[asked].id = cudaLaunchAttributeCooperative;
      how[asked++].val.cooperative = 1;
    }
    if (grid.cluster > 1) {
      how[asked].id = cudaLaunchAttributeClusterDimension;
      how[asked].val.clusterDim.x = static_cast<unsigned>(grid.cluster);
      how[asked].val.clusterDim.y = how[asked].val.clusterDim.z = 1;
      ++asked;
    }
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3(static_cast<unsigned>(grid.blocks));
    launch.blockDim = dim3(static_cast<unsigned>(grid.threads));
    launch.dynamicSmemBytes = grid.shared;
    launch.stream = static_cast<cudaStream_t>(stream);
    launch.attrs = how;
    launch.numAttrs = asked;
    check(cudaLaunchKernelExC(&launch, reinterpret_cast<const void*>(kernel_), parameters), "the launch of a generated kernel");
  }

  // A failure is kept and thrown when this kernel is launched; other kernels are not affected. May run concurrently.
  void compile(const std::string& architecture) {
    try {
      find_or_compile(architecture);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void load() {
    if (failure_) return;
    try {
      check(cudaLibraryLoadData(&library_, code_.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            "loading a generated kernel");
      check(cudaLibraryGetKernel(&kernel_, library_, entry_.c_str()), "finding a generated kernel");
    } catch (...) {
      failure_ = std::current_exception();
    }
    code_.clear(), text_.clear();
  }

 private:
  static constexpr std::size_t kSharedUnasked = 48 * 1024;
  static constexpr int kClusterUnasked = 8;

  void find_or_compile(const std::string& architecture) {
    std::string why;
    const Nvrtc* const nvrtc = Nvrtc::instance(why);
    if (nvrtc == nullptr) throw UserError(ExitCode::kRunFailed, "E0513 cuda", "kernels cannot be compiled: " + why);
    std::vector<std::string_view> made_from = {text_, "nvrtc", nvrtc->version(), architecture};
    for (const DeviceHeader& header : device_headers()) made_from.insert(made_from.end(), {header.name, header.text});
    const CodeCache cache(made_from);
    std::optional<std::string> code = cache.find();
    if (!code) {
      code = nvrtc->compile(text_, architecture);
      cache.keep(*code);
    }
    code_ = std::move(*code);
  }

  std::string entry_, text_, code_;
  cudaLibrary_t library_ = nullptr;  // stays loaded until the program ends
  cudaKernel_t kernel_ = nullptr;
  std::size_t shared_asked_ = 0;
  int cluster_asked_ = 1;
  std::exception_ptr failure_;
};

std::string architecture() {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device_in_use()), "asking for the device's properties");
  std::string why;
  const Nvrtc* const nvrtc = Nvrtc::instance(why);
  if (nvrtc == nullptr) throw UserError(ExitCode::kRunFailed, "E0513 cuda", "kernels cannot be compiled: " + why);
  return architecture_for(properties.major * 10 + properties.minor, nvrtc->architectures());
}

// Compiles concurrently: a network has some dozens of kernels, and each takes a fraction of a second.
void compile_waiting() {
  Kernels& own = kernels();
  const std::lock_guard lock(own.mutex);
  const std::string target = architecture();
  const std::vector<std::shared_ptr<DeviceKernel>> waiting = std::exchange(own.waiting, {});
  std::atomic<std::size_t> next = 0;
  const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
  on_own_threads(static_cast<int>(std::clamp<std::size_t>(waiting.size(), 1, most)), [&](int) {
    for (std::size_t i = next++; i < waiting.size(); i = next++) waiting[i]->compile(target);
  });
  for (const std::shared_ptr<DeviceKernel>& kernel : waiting) kernel->load();
}

}  // namespace

std::shared_ptr<GeneratedKernel> generated_kernel(const std::string& entry, const std::string& text) {
  Kernels& own = kernels();
  const std::lock_guard lock(own.mutex);
  std::shared_ptr<DeviceKernel>& kernel = own.all[entry];
  if (kernel == nullptr) {
    kernel = std::make_shared<DeviceKernel>(entry, text);
    own.waiting.push_back(kernel);
  }
  return kernel;
}

}  // namespace graphrun::cuda
