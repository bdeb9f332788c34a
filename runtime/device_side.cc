#include "runtime/device_side.h"

#include <numeric>
#include <utility>

#include "runtime/status.h"

namespace graphrun {

DeviceSide::DeviceSide(Backend& on, Variables& variables) : backend(on), variables_(variables), fault_(on, sizeof(IndexFault)) {
  if (!variables.on_device()) variables.on_device() = std::make_shared<DeviceVariables>(on);
  backend.clear(fault_.raw(), fault_.bytes());
}

void* DeviceSide::variable(const std::string& name, const Tensor& tensor, bool written) {
  DeviceVariables& copies = *variables_.on_device();
  void* const memory = copies.give(name, tensor);
  if (written) copies.will_write(name);
  return memory;
}

void* DeviceSide::room(std::vector<DeviceMemory>& rooms, std::size_t i, std::size_t bytes) {
  if (rooms.size() <= i) rooms.resize(i + 1);
  if (rooms[i].raw() == nullptr || rooms[i].bytes() < bytes) {
    rooms[i] = DeviceMemory();
    rooms[i] = DeviceMemory(backend, bytes);
  }
  return rooms[i].raw();
}

void* DeviceSide::feed(std::size_t i, const Tensor& tensor) {
  if (tensor.on_device()) return tensor.device_memory();
  void* const memory = room(feeds_, i, tensor.bytes());
  backend.to_device(memory, tensor.raw(), tensor.bytes());
  return memory;
}

void* DeviceSide::fetch(std::size_t i, const Tensor& tensor) {
  return tensor.on_device() ? tensor.device_memory() : room(fetches_, i, tensor.bytes());
}

OnDevice DeviceSide::begin(const Binding& binding) {
  if (unfinished_ != &binding) finish({});
  unfinished_ = &binding;
  const auto steps = static_cast<std::size_t>(binding.most_steps);
  if (positions_.bytes() < steps * sizeof(std::int32_t)) {
    std::vector<std::int32_t> numbers(steps);
    std::iota(numbers.begin(), numbers.end(), 0);
    positions_ = DeviceMemory(backend, steps * sizeof(std::int32_t));
    backend.to_device(positions_.raw(), numbers.data(), positions_.bytes());
  }
  return {&backend, static_cast<IndexFault*>(fault_.raw()), static_cast<std::int32_t*>(positions_.raw())};
}

void DeviceSide::give_up() {
  unfinished_ = nullptr;
  backend.clear(fault_.raw(), fault_.bytes());
}

void DeviceSide::finish(const std::vector<Tensor>& fetched) {
  if (unfinished_ == nullptr) return;
  const Binding& binding = *std::exchange(unfinished_, nullptr);
  IndexFault fault;
  backend.to_host(&fault, fault_.raw(), sizeof fault);
  if (fault.node != 0) {
    backend.clear(fault_.raw(), fault_.bytes());
    const BoundInstruction& bound = *binding.numbered.at(static_cast<std::size_t>(fault.node) - 1);
    try {
      GRAPHRUN_CHECK(bound.kernel.refuse != nullptr, "a kernel that checks no index found a bad one");
      bound.kernel.refuse(fault);
    } catch (...) {
      rethrow_from(*bound.source);
    }
  }
  for (std::size_t i = 0; i < fetched.size(); ++i) backend.to_host(fetched[i].raw(), fetches_[i].raw(), fetched[i].bytes());
}

}  // namespace graphrun
