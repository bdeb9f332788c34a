// What OrderedSum's implementations for arrays on the host and on devices share: the division of arrays, and the operations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"

namespace graphrun {

struct ElementRange {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

// A piece of an array, of which each process owns a slice.
struct SumBucket {
  ElementRange all;
  std::size_t of_slice = 0;  // elements of a slice; the last slices may have fewer

  ElementRange slice(int rank) const {
    const auto begin = [&](int r) { return all.begin + std::min(all.size(), of_slice * static_cast<std::size_t>(r)); };
    return {begin(rank), begin(rank + 1)};
  }
};

// The buckets of `count` elements. Each has `of_bucket` elements, but the last, which may have fewer; a slice consists of whole
// units of `unit` elements, but the last.
inline std::vector<SumBucket> divided_into_buckets(std::size_t count, std::size_t of_bucket, std::size_t unit, int processes) {
  std::vector<SumBucket> buckets;
  const auto n = static_cast<std::size_t>(processes);
  for (std::size_t begin = 0; begin < count; begin += of_bucket) {
    const ElementRange all = {begin, std::min(count, begin + of_bucket)};
    const std::size_t units = (all.size() + unit - 1) / unit;
    buckets.push_back({all, (units + n - 1) / n * unit});
  }
  return buckets;
}

struct OrderedSum::Impl {
  virtual ~Impl() = default;
  virtual const Tensor& numbers() const { throw InternalError("OrderedSum: the arrays are on devices"); }
  virtual const DeviceMemory& numbers_on_device() const { throw InternalError("OrderedSum: the arrays are on the host"); }
  virtual void begin_from_numbers() = 0;
  virtual void begin(const Round& next) = 0;
  virtual void ready(std::size_t end) = 0;
  virtual void finish() = 0;
  virtual std::vector<std::pair<std::size_t, std::size_t>> owned(int) const { throw InternalError("OrderedSum::owned"); }
  virtual void hand_out(const Tensor&) { throw InternalError("OrderedSum::hand_out"); }
};

}  // namespace graphrun
