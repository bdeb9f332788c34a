// The device's copies of variables, and which of the two sides is newer.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/tensor/backend.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

class DeviceVariables {
 public:
  explicit DeviceVariables(Backend& backend) : backend_(backend) {}
  bool is_on(const Backend& backend) const { return &backend_ == &backend; }

  // The variable's address on the device, holding the tensor's elements unless the device has newer ones.
  void* give(const std::string& name, const Tensor& tensor);
  // Moves the variable's copy to `place`, memory of the tensor's size, where it stays until forget().
  void put(const std::string& name, const Tensor& tensor, const DeviceMemory& place);
  // Marks the variable as about to be written by a run on the device.
  void will_write(const std::string& name) { copies_.at(name).newer = true; }
  // Copies what runs wrote into the tensor.
  void bring_back(const std::string& name, const Tensor& tensor);
  void forget(const std::string& name) { copies_.erase(name); }
  std::size_t bytes() const;

 private:
  struct Copy {
    DeviceMemory memory;
    std::uint64_t version = 0;  // the tensor's version when both sides were equal
    bool newer = false;         // the device's copy is newer than the tensor
  };
  Backend& backend_;
  std::map<std::string, Copy> copies_;
};

}  // namespace graphrun
