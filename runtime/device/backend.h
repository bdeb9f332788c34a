// A device that is not the CPU: its memory, and one stream of work in order, but for what runs on auxiliary streams. CUDA's is
// a library of its own, which is loaded when it is asked for (runtime/device/cuda_library.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace graphrun {

// What a launch may count on: the device, or its share of it.
struct DeviceLimits {
  int multiprocessors = 1;        // blocks that are on the device at once, at least
  int threads = 256;              // of a block whose blocks wait for each other
  std::size_t shared = 48 << 10;  // bytes of a block
  bool matrix_units = false;      // for TF32 and bfloat16 (runtime/cuda/matrix_units.h)
  // How many clusters of cluster_size(i) blocks, 2, 4, 8 and 16, are on the device at once, where a block takes a
  // multiprocessor: blocks that meet without all others and write to each other's memory.
  std::array<int, 4> clusters = {};
  static constexpr int cluster_size(std::size_t i) { return 2 << i; }
};

class Backend {
 public:
  // Work that was noted, to be done as often as it is asked for.
  class Recording {
   public:
    virtual ~Recording() = default;
  };

  virtual ~Backend() = default;
  virtual std::string name() const = 0;  // "NVIDIA H100 (compute capability 9.0)"

  // Null where there is not so much memory. Both are in the stream's order too: what is released may be used by what was begun
  // before.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  // Each in the stream's order. What comes from the host has been read when to_device returns; what goes there is there when
  // to_host does.
  virtual void to_device(void* to, const void* from, std::size_t bytes) = 0;
  struct ToHost {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  virtual void to_host(std::span<const ToHost> pieces) = 0;  // at the price of one wait, where they are not large
  void to_host(void* to, const void* from, std::size_t bytes) {
    const ToHost piece{to, from, bytes};
    to_host({&piece, 1});
  }
  // On the way to the host: as to_host, in the stream's order where it was asked for, but nobody waits before wait() is called,
  // which waits for that alone. Not longer than the backend lives.
  class Arrival {
   public:
    virtual ~Arrival() = default;
    virtual void wait() = 0;  // then it is there; throws what the device failed with
  };
  virtual std::shared_ptr<Arrival> to_host_later(std::span<const ToHost> pieces) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void clear(void* memory, std::size_t bytes) = 0;
  virtual void* stream() = 0;  // KernelContext::stream
  virtual DeviceLimits limits() const = 0;
  virtual void wait() = 0;  // for everything that was begun

  // Launches, copies and clears from auxiliary(k) to the next call of it or of join come after what was begun before the
  // first of these calls, and in no order to those of other streams, k from 0 to kMostConcurrent - 1; what comes after join
  // comes after all of them. Meanwhile nothing is taken or given back, or brought from or to the host.
  virtual void auxiliary(std::size_t k) = 0;
  virtual void join() = 0;

  // From record() to recorded() work is noted instead of done: launches, copies and clears, with the addresses they have now.
  // Meanwhile nothing is taken or given back, waited for, or brought from or to the host. recorded() is null where the device
  // could not note all of it. play() does it, in the stream's order.
  virtual void record() = 0;
  virtual std::shared_ptr<const Recording> recorded() = 0;
  virtual void play(const Recording& recording) = 0;
};

// What each of several that run at the same time has of a device.
inline DeviceLimits share_of(DeviceLimits limits, int sharing) {
  limits.multiprocessors = std::max(1, limits.multiprocessors / sharing);
  for (int& clusters : limits.clusters) clusters /= sharing;
  return limits;
}

// Memory that is given back when nobody holds it any more, which may be before the device is done with it: what the device does
// then comes after. Throws UserError (E0503) where there is no room.
std::shared_ptr<void> allocate_on(Backend& backend, std::size_t bytes);

// A piece of a device's memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  // Throws as allocate_on does.
  DeviceMemory(Backend& backend, std::size_t bytes) : memory_(allocate_on(backend, bytes)), bytes_(bytes) {}
  void* raw() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace graphrun
