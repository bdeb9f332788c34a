// Kernels whose text is made while the program runs: what a pointwise program or a recurrent cell becomes. CUDA's library
// compiles them with NVRTC (generated.cu), the emulated device with the host's compiler (generated_emulation.cc): the same
// text, byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "runtime/base/status.h"
#include "runtime/cuda/launch.h"

namespace graphrun::cuda {

class GeneratedKernel {
 public:
  virtual ~GeneratedKernel() = default;
  // `arguments`: the bytes of the entry's struct. The first launch compiles this kernel and all others that were asked for
  // before it.
  virtual void launch(void* stream, const Grid& grid, const void* arguments) = 0;
};

// The kernel that `text` defines as GRAPHRUN_ENTRY(entry, …). The text may include what device_headers() names, and all its own
// names are in a namespace of its own. Equal texts are one kernel.
std::shared_ptr<GeneratedKernel> generated_kernel(const std::string& entry, const std::string& text);

// The files that texts include, by the names that they include them by.
struct DeviceHeader {
  const char* name;
  const char* text;
};
std::span<const DeviceHeader> device_headers();

// The bytes of a struct of numbers and addresses, put together member by member with the alignment that C gives them.
class ArgumentBytes {
 public:
  static constexpr std::size_t kMostBytes = 4096;  // that a launch can bring to any device

  template <class T>
  void put(const T& value) {
    static_assert(alignof(T) <= alignof(std::uint64_t));
    const std::size_t at = (size_ + alignof(T) - 1) / alignof(T) * alignof(T);
    GRAPHRUN_CHECK(at + sizeof value <= kMostBytes, "a generated kernel with too many arguments");
    std::memcpy(reinterpret_cast<char*>(words_) + at, &value, sizeof value);
    size_ = at + sizeof value;
  }
  // As a struct ends: the next member is one of 8 bytes, or a struct with such.
  void align() { size_ = (size_ + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t); }
  const void* data() const { return words_; }

 private:
  std::uint64_t words_[kMostBytes / sizeof(std::uint64_t)];
  std::size_t size_ = 0;
};

}  // namespace graphrun::cuda
