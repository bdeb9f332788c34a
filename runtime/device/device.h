// The devices that programs run on. A device has the kernels of the operators. A device other than the CPU also has its
// own memory and can run a loop as one launch; a shared library, loaded on demand, implements it
// (runtime/device/cuda_library.h).
#pragma once

#include <memory>
#include <string>

#include "runtime/base/rounding.h"
#include "runtime/program/kernel.h"
#include "runtime/scan/loop_compiler.h"
#include "runtime/tensor/backend.h"

namespace graphrun {

class Communicator;
class DeviceGroup;

// A library that implements a kind of device; it stays loaded until the program ends.
struct DeviceLibrary {
  // Opens device `ordinal`, counted from 0. Null if that is not possible, with the reason in `why`.
  std::unique_ptr<Backend> (*open)(int ordinal, std::string& why);
  // The number of devices. 0 if there are none, with the reason in `why`.
  int (*count)(std::string& why);
  // For runtime/communicator/device_group.h. The name and version of what carries arrays between the devices of processes;
  // empty if it cannot be loaded, with the reason in `why`.
  std::string (*carrier)(std::string& why);
  // All processes call it, if each has a carrier. Throws UserError (kRunFailed, E0513) and PeerEnd.
  std::unique_ptr<DeviceGroup> (*join)(Backend& device, Communicator& together);
  const KernelRegistry& kernels;  // sealed
  LoopCompiler loops;
  bool emulated = false;  // its devices are emulated on the host
};

// Immutable, and valid until the program ends. What is behind it (the memory and streams of its backend) changes.
class Device {
 public:
  // The CPU, whose kernels are part of the core library: they are sealed here.
  explicit Device(KernelRegistry& kernels);
  // A device of a library.
  Device(const DeviceLibrary& library, std::unique_ptr<Backend> backend);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  bool is_cpu() const { return backend_ == nullptr; }
  std::string name() const;  // "the CPU", or the backend's name
  const KernelRegistry& kernels() const { return kernels_; }
  // The CPU has none of these: they throw InternalError there.
  Backend& backend() const;
  const LoopCompiler& loops() const;
  const DeviceLibrary& library() const;

 private:
  const KernelRegistry& kernels_;
  const DeviceLibrary* const library_;      // null: the CPU
  const std::unique_ptr<Backend> backend_;  // null: the CPU
};

// Call it only after start-up, that is, not while static variables are initialized: it seals the kernels of the CPU.
const Device& cpu_device();

// The device that a program runs on, and what products round there.
struct Target {
  // A device alone is a complete target if nothing is rounded.
  Target(const Device& d = cpu_device(), WeightForm w = WeightForm::kFloat32,  // NOLINT: converts
         ProductPrecision p = ProductPrecision::kFloat32)
      : device(&d), weights(w), products(p) {}

  const Device* device;  // never null
  WeightForm weights;
  ProductPrecision products;
};

}  // namespace graphrun
