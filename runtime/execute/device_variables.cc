#include "runtime/execute/device_variables.h"

namespace graphrun {

void* DeviceVariables::give(const std::string& name, const Tensor& tensor) {
  Copy& copy = copies_[name];
  if (copy.memory.bytes() != tensor.bytes()) {
    copy = {};
    copy.memory = DeviceMemory(backend_, tensor.bytes());
  }
  // The tensor was written after the last copy from the device, so it is newer than the device's copy.
  if (copy.version != tensor.version()) {
    backend_.to_device(copy.memory.raw(), tensor.raw(), tensor.bytes());
    copy.version = tensor.version();
    copy.newer = false;
  }
  return copy.memory.raw();
}

void DeviceVariables::put(const std::string& name, const Tensor& tensor, const DeviceMemory& place) {
  Copy& copy = copies_[name];
  if (copy.memory.raw() != place.raw()) {
    const bool has_elements = copy.memory.raw() != nullptr && copy.version == tensor.version();
    if (has_elements) backend_.copy(place.raw(), copy.memory.raw(), place.bytes());
    copy.memory = place;
  }
  give(name, tensor);
}

void DeviceVariables::bring_back(const std::string& name, const Tensor& tensor) {
  const auto it = copies_.find(name);
  if (it == copies_.end() || !it->second.newer || it->second.version != tensor.version()) return;
  backend_.to_host(tensor.raw(), it->second.memory.raw(), tensor.bytes());
  tensor.mark_written();
  it->second.version = tensor.version();
  it->second.newer = false;
}

std::size_t DeviceVariables::bytes() const {
  std::size_t sum = 0;
  for (const auto& [name, copy] : copies_) sum += copy.memory.bytes();
  return sum;
}

}  // namespace graphrun
