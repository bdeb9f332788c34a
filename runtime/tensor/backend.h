// The memory of a device other than the CPU, and its streams of work: one in order, plus auxiliary ones. The device's library
// implements it (runtime/device/device.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace graphrun {

// The resources available to a launch: the whole device, or its share of it.
struct DeviceLimits {
  int multiprocessors = 1;        // blocks guaranteed to be resident on the device concurrently
  int threads = 256;              // per block, in grids whose blocks synchronize
  std::size_t shared = 48 << 10;  // bytes per block
  bool matrix_units = false;      // for TF32 and bfloat16 (runtime/cuda/matrix_units.h)
  // How many clusters of cluster_size(i) blocks (2, 4, 8 and 16) are resident concurrently, if each block occupies a
  // multiprocessor. The blocks of a cluster synchronize without the rest of the grid and write to each other's shared memory.
  std::array<int, 4> clusters = {};
  bool row_loops = true;  // whether a loop that can run by columns may run by rows instead
  // Whether matrix units multiply full float32 too, as sums of TF32 products (runtime/cuda/matrix_units.h). Not on the emulated
  // device, unless a test asks for it: there, exchanging words takes far longer than multiplying them.
  bool splits_float32 = false;
  static constexpr int cluster_size(std::size_t i) { return 2 << i; }
};

// Threads: name(), uuid(), limits() and use() may be called from several threads at the same time. The other functions may be
// called from any thread, but from one at a time: they share the streams.
class Backend {
 public:
  // A recorded sequence of work that can be replayed any number of times.
  class Recording {
   public:
    virtual ~Recording() = default;
  };

  virtual ~Backend() = default;
  virtual std::string name() const = 0;  // "NVIDIA H100 (compute capability 9.0)"
  virtual std::string uuid() const = 0;  // "GPU-8f2d…": no other device has it, on any machine

  // Makes this the calling thread's current device (cudaSetDevice). The functions below do so themselves where they need it;
  // kernels are made and launched after a call.
  virtual void use() = 0;

  // Null if there is not enough memory. Both follow the stream's order: work issued before the release may still use the
  // memory.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  // Each in the stream's order. to_device returns once the host's bytes have been read; to_host returns once the bytes have
  // arrived.
  virtual void to_device(void* to, const void* from, std::size_t bytes) = 0;
  struct ToHost {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  virtual void to_host(std::span<const ToHost> pieces) = 0;  // with a single wait, if the pieces are small
  void to_host(void* to, const void* from, std::size_t bytes) {
    const ToHost piece{to, from, bytes};
    to_host({&piece, 1});
  }
  // A copy on its way to the host: like to_host, in the stream's order at the point of the call, but without blocking until
  // wait() is called, which waits for this copy alone. Must not outlive the backend.
  class Arrival {
   public:
    virtual ~Arrival() = default;
    virtual void wait() = 0;  // returns once the copy has arrived; throws any error of the device
  };
  virtual std::shared_ptr<Arrival> to_host_later(std::span<const ToHost> pieces) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void clear(void* memory, std::size_t bytes) = 0;
  virtual void* stream() = 0;  // KernelContext::stream
  virtual DeviceLimits limits() const = 0;
  virtual void wait() = 0;  // for all work issued so far

  // Selects stream k, from 0 to kMostConcurrent - 1. Launches, copies and clears issued between auxiliary(k) and the next call
  // of auxiliary or join run after everything issued before the first of these calls, and concurrently with the other streams;
  // work issued after join runs after all of them. In between, memory must not be allocated or freed, nor copied to or from the
  // host.
  virtual void auxiliary(std::size_t k) = 0;
  virtual void join() = 0;

  // Between record() and recorded(), work is recorded instead of executed: launches, copies and clears, with their current
  // addresses. In between, memory must not be allocated or freed, nothing may wait, and nothing may be copied to or from the
  // host. recorded() returns null if the device could not record all of it. play() executes the recording, in the stream's
  // order.
  virtual void record() = 0;
  virtual std::shared_ptr<const Recording> recorded() = 0;
  virtual void play(const Recording& recording) = 0;
};

// The share that each of `sharing` concurrent launches has of a device.
inline DeviceLimits share_of(DeviceLimits limits, int sharing) {
  limits.multiprocessors = std::max(1, limits.multiprocessors / sharing);
  for (int& clusters : limits.clusters) clusters /= sharing;
  return limits;
}

// Memory that is freed when its last owner releases it, possibly before the device has finished its work: later uses of the
// memory are ordered after that work. Throws UserError (E0503) if out of memory.
std::shared_ptr<void> allocate_on(Backend& backend, std::size_t bytes);

// A block of device memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  // Throws like allocate_on.
  DeviceMemory(Backend& backend, std::size_t bytes) : memory_(allocate_on(backend, bytes)), bytes_(bytes) {}
  // `bytes` bytes of this block from byte `begin` on; the part keeps the whole block alive.
  DeviceMemory part(std::size_t begin, std::size_t bytes) const {
    DeviceMemory part;
    part.memory_ = {memory_, static_cast<char*>(memory_.get()) + begin};
    part.bytes_ = bytes;
    return part;
  }
  // Makes the block at least that large, with arbitrary contents, if it is smaller. It then gets some room to grow: the larger
  // sizes that follow mostly find room, at the same address. The old block is freed first. Throws like allocate_on.
  void reserve(Backend& backend, std::size_t bytes);
  // Whether another block, or a part of this one, shares the memory.
  bool is_shared() const { return memory_.use_count() > 1; }
  void* raw() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace graphrun
