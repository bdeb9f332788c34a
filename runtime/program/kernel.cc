#include "runtime/program/kernel.h"

#include <utility>

#include "runtime/base/status.h"

namespace graphrun {

void KernelRegistry::add(std::string_view op, KernelFactory factory) {
  GRAPHRUN_CHECK(!sealed_,
                 "a kernel for op '" + std::string(op) + "' was registered after the registry of its device was sealed");
  const bool fresh = factories_.emplace(std::string(op), std::move(factory)).second;
  GRAPHRUN_CHECK(fresh, "a second kernel for op '" + std::string(op) + "' on the same device");
}

const KernelFactory* KernelRegistry::find(std::string_view op) const {
  GRAPHRUN_CHECK(sealed_, "a kernel for op '" + std::string(op) + "' was looked up before the registry was sealed");
  const auto it = factories_.find(op);
  return it == factories_.end() ? nullptr : &it->second;
}

template <>
KernelRegistry& registered_kernels<DeviceKind::kCpu>() {
  static KernelRegistry registry;
  return registry;
}

}  // namespace graphrun
