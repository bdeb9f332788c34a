#include "runtime/program/kernel.h"

#include <map>
#include <string>

#include "runtime/base/status.h"

namespace graphrun {

struct KernelRegistry::Impl {
  std::map<Device, std::map<std::string, KernelFactory, std::less<>>> factories;
};

KernelRegistry::KernelRegistry() : impl_(std::make_shared<Impl>()) {}

KernelRegistry& KernelRegistry::instance() {
  static KernelRegistry registry;
  return registry;
}

void KernelRegistry::add(std::string_view op, Device device, KernelFactory factory) {
  const bool fresh = impl_->factories[device].emplace(std::string(op), std::move(factory)).second;
  GRAPHRUN_CHECK(fresh, "a second kernel for op '" + std::string(op) + "' on the same device");
}

const KernelFactory* KernelRegistry::find(std::string_view op, Device device) const {
  const auto on_device = impl_->factories.find(device);
  if (on_device == impl_->factories.end()) return nullptr;
  const auto it = on_device->second.find(op);
  return it == on_device->second.end() ? nullptr : &it->second;
}

}  // namespace graphrun
