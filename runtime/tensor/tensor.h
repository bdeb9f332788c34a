// Tensors: dense, row-major. A Tensor owns its memory, on the host or on a device; a TensorView refers to another's memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/base/status.h"

namespace graphrun {

class Backend;
class DeviceMemory;

inline constexpr std::size_t kAlignment = 64;  // of every buffer: a cache line, and the widest vector

struct TensorView {
  void* data = nullptr;  // null: an optional input that is absent
  DType dtype = DType::kFloat32;
  Sizes sizes;

  bool present() const { return data != nullptr; }
  int rank() const { return static_cast<int>(sizes.size()); }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (std::int64_t d : sizes) n *= d;
    return n;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * size_of(dtype); }
  // The elements; T must match the dtype's size and kind.
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// The bytes of a tensor's elements. Throws UserError (E0503) if their number exceeds 64 bits.
std::size_t tensor_bytes(DType dtype, const Sizes& sizes);

class Tensor {
 public:
  Tensor() = default;
  // Zeros. Throws UserError (E0503, out of memory).
  Tensor(DType dtype, Sizes sizes);
  // The same, uninitialized: for someone who writes every element.
  static Tensor uninitialized(DType dtype, Sizes sizes);
  // In a device's memory, uninitialized: results that a run leaves for the next one (RunOptions::on_device). dtype and sizes
  // are available; to read elements, call to_host(). Throws as above.
  Tensor(DType dtype, Sizes sizes, Backend& device);
  // The same in a block of the device's memory that is large enough. Tensor and block both keep the memory alive; only
  // copies of the tensor count as sharing it.
  Tensor(DType dtype, Sizes sizes, Backend& device, const DeviceMemory& memory);

  template <class T>
  static Tensor of(Sizes sizes, const std::vector<T>& elements) {
    Tensor t(dtype_of<T>(), std::move(sizes));
    GRAPHRUN_CHECK(t.count() == static_cast<std::int64_t>(elements.size()), "Tensor::of: count");
    T* out = t.data<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) out[i] = elements[i];
    return t;
  }

  // Whether another tensor shares the same memory.
  bool is_shared() const { return data_.use_count() > 1; }
  // Whether the memory is unshared, on the host, and large enough for a tensor of these sizes.
  bool has_room_for(DType dtype, const Sizes& sizes) const;
  // A tensor in the other's memory, uninitialized.
  static Tensor with_memory_of(const Tensor& other, DType dtype, Sizes sizes);
  // A tensor in a part of a host tensor's memory, which it keeps: `sizes` elements from element `begin` on, the address of
  // which must be a multiple of kAlignment. It has a version of its own.
  static Tensor part_of(const Tensor& whole, std::int64_t begin, Sizes sizes);

  bool empty() const { return data_ == nullptr; }
  DType dtype() const { return dtype_; }
  const Sizes& sizes() const { return sizes_; }
  std::int64_t count() const { return element_count(sizes_); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * size_of(dtype_); }
  bool on_device() const { return device_ != nullptr; }
  // The address on its device.
  void* device_memory() const;
  // This tensor, or, if it is on a device, a host copy made after all work issued there so far.
  Tensor to_host() const;
  // The same for several, with a single wait.
  static std::vector<Tensor> to_host(const std::vector<Tensor>& tensors);

  // The following are for tensors in host memory only.
  void* raw() const {
    GRAPHRUN_CHECK(device_ == nullptr, "a device's memory is not the host's");
    return data_.get();
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(raw());
  }
  template <class T>
  std::span<T> span() const {
    return {data<T>(), static_cast<std::size_t>(count())};
  }
  // A number that is unique among buffers and changes with mark_written: anything derived from the elements is valid as long as
  // the number is the same. Copies share it along with the elements. 0: empty.
  std::uint64_t version() const;
  // Call after writing elements that something may be derived from (a variable's): see Variables.
  void mark_written() const;
  TensorView view() const { return {raw(), dtype_, sizes_}; }
  Tensor clone() const;
  Tensor converted(DType to) const;  // element by element
  // Element i (row-major) as a double, whatever the dtype.
  double at(std::int64_t i) const;

 private:
  struct Head;
  void allocate(bool zeros);

  DType dtype_ = DType::kFloat32;
  Sizes sizes_;
  std::shared_ptr<void> data_;  // shared by copies, but not by clone()
  Head* head_ = nullptr;        // of host memory; data_ owns it too
  Backend* device_ = nullptr;   // null: the host
};

}  // namespace graphrun
