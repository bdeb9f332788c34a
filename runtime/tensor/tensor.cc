#include "runtime/tensor/tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <utility>

#include "runtime/tensor/backend.h"

namespace graphrun {
namespace {

// The most bytes that this process may ever hold: the machine's memory or its control group's limit. The kernel overcommits
// address space and then kills the process, so the limit is checked before allocating.
std::size_t memory_limit() {
  static const std::size_t limit = [] {
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
    const long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_size > 0) bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_size);
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
      std::uint64_t group = 0;
      if (std::ifstream file(path); file >> group && group > 0) bytes = std::min(bytes, group);  // "max" is not a number
    }
    return static_cast<std::size_t>(bytes);
  }();
  return limit;
}

[[noreturn]] void refuse_bytes(std::string bytes, DType dtype, const Sizes& sizes) {
  throw UserError(ExitCode::kNoRoom, "E0503 out-of-memory",
                  "no memory for a " + std::string(name_of(dtype)) + " tensor of sizes " + str(sizes) + " (" + bytes + ")",
                  {"help: use a smaller batch or smaller sizes, or a machine with more memory"});
}

std::uint64_t next_version() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::size_t aligned(std::size_t x, std::size_t to = kAlignment) { return (x + to - 1) / to * to; }

// Large tensors ask the kernel for huge pages. A core that reads every weight for every word otherwise spends much of its time
// on TLB misses: a TLB holds a few thousand pages of 4 KB. The last page is huge if at least half of it is used.
constexpr std::size_t kHugePage = 2u << 20;
#ifdef __SANITIZE_ADDRESS__  // finds accesses beyond the allocated memory, so there must be no slack
constexpr bool kAsksForHugePages = false;
#else
constexpr bool kAsksForHugePages = true;
#endif

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_same_v<To, std::int32_t> && std::is_floating_point_v<From>) {
    // Converting a value out of range is undefined in C++: use the nearest integer that fits, and 0 for NaN.
    if (std::isnan(x)) return 0;
    constexpr double lowest = std::numeric_limits<std::int32_t>::min(), highest = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::clamp(static_cast<double>(x), lowest, highest));
  } else {
    return static_cast<To>(x);
  }
}

template <class From>
void convert_all(const Tensor& from, Tensor& to) {
  const std::span<const From> in = from.span<From>();
  const auto fill = [&]<class To>(To* out) {
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = convert<To>(in[i]);
  };
  switch (to.dtype()) {
    case DType::kFloat32: return fill(to.data<float>());
    case DType::kFloat64: return fill(to.data<double>());
    case DType::kInt32: return fill(to.data<std::int32_t>());
    case DType::kBool: return fill(to.data<bool>());
  }
}

}  // namespace

std::size_t tensor_bytes(DType dtype, const Sizes& sizes) {
  std::int64_t count = 0;
  try {
    count = element_count(sizes);
  } catch (const UserError&) {
    refuse_bytes("more bytes than 63 bits count", dtype, sizes);
  }
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(count), size_of(dtype), &bytes)) {
    refuse_bytes("more bytes than 64 bits count", dtype, sizes);
  }
  return bytes;
}

// What tensors with the same memory share.
struct Tensor::Head {
  std::atomic<std::uint64_t> version{next_version()};
  std::size_t room = 0;  // capacity for elements, in bytes
};

// Memory fresh from the kernel is already zero; calloc knows that, so large tensors cost nothing until they are touched.
void Tensor::allocate(bool zeros) {
  const std::size_t bytes = tensor_bytes(dtype_, sizes_);
  if (bytes > memory_limit()) refuse_bytes(std::to_string(bytes) + " bytes", dtype_, sizes_);
  // Kernels may read whole vectors at the end of a buffer: round up to the alignment. Never empty, so that data is never null.
  const std::size_t room = std::max(aligned(bytes), kAlignment);
  const std::size_t huge = kAsksForHugePages ? (room + kHugePage / 2) / kHugePage * kHugePage : 0;
  const std::size_t alignment = huge > 0 ? kHugePage : kAlignment;
  const std::size_t all = kAlignment + std::max(room, huge) + alignment - 1;
  void* base = zeros ? std::calloc(1, all) : std::malloc(all);
  if (base == nullptr) refuse_bytes(std::to_string(bytes) + " bytes", dtype_, sizes_);
  const std::shared_ptr<void> owner(base, [](void* p) { std::free(p); });
  static_assert(sizeof(Head) <= kAlignment);
  const std::size_t address = reinterpret_cast<std::uintptr_t>(base), begin = aligned(address + kAlignment, alignment);
  char* const data = static_cast<char*>(base) + (begin - address);
  if (huge > 0) madvise(data, huge, MADV_HUGEPAGE);  // may fail: a kernel without them
  head_ = new (data - kAlignment) Head;
  head_->room = room;
  data_ = {owner, data};
}

Tensor::Tensor(DType dtype, Sizes sizes) : dtype_(dtype), sizes_(std::move(sizes)) { allocate(true); }

Tensor Tensor::uninitialized(DType dtype, Sizes sizes) {
  Tensor t;
  t.dtype_ = dtype, t.sizes_ = std::move(sizes);
  t.allocate(false);
  return t;
}

Tensor::Tensor(DType dtype, Sizes sizes, Backend& device)
    : dtype_(dtype), sizes_(std::move(sizes)), data_(allocate_on(device, tensor_bytes(dtype_, sizes_))), device_(&device) {}

Tensor::Tensor(DType dtype, Sizes sizes, Backend& device, const DeviceMemory& memory)
    : dtype_(dtype), sizes_(std::move(sizes)), data_(memory.raw(), [memory](void*) {}), device_(&device) {
  GRAPHRUN_CHECK(memory.bytes() >= bytes(), "a tensor in memory that is too small");
}

void* Tensor::device_memory() const {
  GRAPHRUN_CHECK(device_ != nullptr, "the host's memory is not a device's");
  return data_.get();
}

Tensor Tensor::to_host() const {
  if (device_ == nullptr) return *this;
  Tensor copy(dtype_, sizes_);
  device_->to_host(copy.raw(), data_.get(), bytes());
  return copy;
}

std::vector<Tensor> Tensor::to_host(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies = tensors;
  std::vector<Backend::ToHost> pieces;
  Backend* device = nullptr;
  for (Tensor& copy : copies) {
    if (!copy.on_device()) continue;
    GRAPHRUN_CHECK(device == nullptr || device == copy.device_, "tensors on two devices");
    device = copy.device_;
    const Tensor there = std::exchange(copy, Tensor(copy.dtype_, copy.sizes_));
    pieces.push_back({copy.raw(), there.device_memory(), there.bytes()});
  }
  if (device != nullptr) device->to_host(pieces);
  return copies;
}

bool Tensor::has_room_for(DType dtype, const Sizes& sizes) const {
  if (empty() || on_device() || is_shared()) return false;
  std::atomic_thread_fence(std::memory_order_acquire);  // synchronizes with other owners' last accesses
  return head_->room >= tensor_bytes(dtype, sizes);
}

Tensor Tensor::with_memory_of(const Tensor& other, DType dtype, Sizes sizes) {
  Tensor t;
  t.dtype_ = dtype, t.sizes_ = std::move(sizes), t.data_ = other.data_, t.head_ = other.head_;
  t.mark_written();
  return t;
}

Tensor Tensor::part_of(const Tensor& whole, std::int64_t begin, Sizes sizes) {
  struct Part {
    std::shared_ptr<void> whole;
    Head head;
  };
  Tensor t;
  t.dtype_ = whole.dtype_, t.sizes_ = std::move(sizes);
  const std::size_t at = static_cast<std::size_t>(begin) * size_of(t.dtype_);
  GRAPHRUN_CHECK(begin >= 0 && at % kAlignment == 0 && begin + t.count() <= whole.count(), "Tensor::part_of: no such part");
  const auto part = std::make_shared<Part>();
  part->whole = whole.data_;
  part->head.room = std::min(aligned(t.bytes()), whole.head_->room - at);
  t.head_ = &part->head;
  t.data_ = {part, static_cast<char*>(whole.raw()) + at};
  return t;
}

std::uint64_t Tensor::version() const { return empty() ? 0 : head_->version.load(std::memory_order_relaxed); }
void Tensor::mark_written() const {
  if (!empty()) head_->version.store(next_version(), std::memory_order_relaxed);
}

Tensor Tensor::clone() const {
  if (empty()) return {};
  Tensor copy(dtype_, sizes_);
  std::memcpy(copy.raw(), raw(), bytes());
  return copy;
}

Tensor Tensor::converted(DType to) const {
  if (empty()) return {};
  if (to == dtype_) return clone();
  Tensor result(to, sizes_);
  switch (dtype_) {
    case DType::kFloat32: convert_all<float>(*this, result); break;
    case DType::kFloat64: convert_all<double>(*this, result); break;
    case DType::kInt32: convert_all<std::int32_t>(*this, result); break;
    case DType::kBool: convert_all<std::uint8_t>(*this, result); break;
  }
  return result;
}

double Tensor::at(std::int64_t i) const {
  GRAPHRUN_CHECK(!empty() && i >= 0 && i < count(), "Tensor::at: index");
  switch (dtype_) {
    case DType::kFloat32: return data<float>()[i];
    case DType::kFloat64: return data<double>()[i];
    case DType::kInt32: return data<std::int32_t>()[i];
    case DType::kBool: return data<std::uint8_t>()[i] != 0;
  }
  return 0;
}

}  // namespace graphrun
