#include "runtime/device/device.h"

#include <utility>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

const KernelRegistry& sealed(KernelRegistry& kernels) {
  kernels.seal();
  return kernels;
}

}  // namespace

Device::Device(KernelRegistry& kernels) : kernels_(sealed(kernels)), library_(nullptr) {}
Device::Device(const DeviceLibrary& library, std::unique_ptr<Backend> backend)
    : kernels_(library.kernels), library_(&library), backend_(std::move(backend)) {}

std::string Device::name() const { return is_cpu() ? "the CPU" : backend_->name(); }

Backend& Device::backend() const {
  GRAPHRUN_CHECK(backend_ != nullptr, "the CPU has no backend");
  return *backend_;
}

const DeviceLibrary& Device::library() const {
  GRAPHRUN_CHECK(library_ != nullptr, "the CPU has no library");
  return *library_;
}

const LoopCompiler& Device::loops() const { return library().loops; }

const Device& cpu_device() {
  static const Device device(registered_kernels<DeviceKind::kCpu>());
  return device;
}

}  // namespace graphrun
