// The devices of the processes of a run, between which float32 arrays travel without the host. A device's library implements
// it; for CUDA, by NCCL (runtime/cuda/nccl.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/communicator/communicator.h"
#include "runtime/device/device.h"

namespace graphrun {

// All processes call the same functions in the same order. Work is done in the order of the device's stream; it may still be
// in progress when a function returns. All pointers are to the device's memory. The functions throw PeerEnd if another process
// ends before they are done, and UserError (kRunFailed, E0513) if the device or its library fails. After either, no work is in
// progress, and the object can only be destroyed.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  virtual Backend& device() = 0;  // of this process
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Elements to or from another process.
  struct Piece {
    int peer = 0;
    const float* send = nullptr;  // exactly one of `send` and `receive` is set
    float* receive = nullptr;
    std::size_t count = 0;
  };
  // All of the pieces at the same time.
  virtual void exchange(std::span<const Piece> pieces) = 0;
  // Each process has `each` elements of an array of size() * each, those from rank() * each on; afterwards all have all.
  virtual void share(float* array, std::size_t each) = 0;
  // Replaces the array by the sum of all processes' arrays, added in any order.
  virtual void add_in_any_order(float* array, std::size_t count) = 0;

  // The sum of the arrays of processes `first` to `last`, in this order, and of `before`, if there is one, before them.
  struct Addition {
    const float* before = nullptr;    // null: the sum begins with the first array
    const float* own = nullptr;       // the array of process `me`
    const float* received = nullptr;  // those of the others, by rank, each of `count` elements
    int first = 0, last = 0, me = 0;
    float* sum = nullptr;  // may be `before` or `own`
    std::size_t count = 0;
  };
  virtual void add(const Addition& addition) = 0;

  // Waits until all work that the functions above have begun is done.
  virtual void wait() = 0;
};

// What carries arrays between devices like this one in several processes, "NCCL 2.28.9". Empty on the CPU, and if the
// environment variable GRAPHRUN_NCCL_LIBRARY is "none": then they pass through the host. Throws UserError (kUsage, E0539
// no-nccl) if the library does not load.
std::string carrier_of(const Device& device);

// The group of the devices of all processes, which call it together. Null if there is no carrier. Throws like carrier_of and
// DeviceGroup.
std::unique_ptr<DeviceGroup> join_devices(const Device& device, Communicator& together);

}  // namespace graphrun
