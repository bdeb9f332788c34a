// The copies of variables on a device, and which of the two is the newer one.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/device/backend.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

class DeviceVariables {
 public:
  explicit DeviceVariables(Backend& backend) : backend_(backend) {}

  // Where the variable lies on the device, with the tensor's elements unless the device has newer ones.
  void* give(const std::string& name, const Tensor& tensor);
  // A run is going to write it there.
  void will_write(const std::string& name) { copies_.at(name).newer = true; }
  // Copies what a run wrote into the tensor.
  void bring_back(const std::string& name, const Tensor& tensor);
  void forget(const std::string& name) { copies_.erase(name); }
  std::size_t bytes() const;

 private:
  struct Copy {
    DeviceMemory memory;
    std::uint64_t version = 0;  // of the tensor when both were the same
    bool newer = false;         // than the tensor
  };
  Backend& backend_;
  std::map<std::string, Copy> copies_;
};

}  // namespace graphrun
