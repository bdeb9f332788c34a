#include "runtime/tensor/result_memory.h"

#include <algorithm>
#include <utility>

namespace graphrun {

Tensor ResultMemory::take(std::size_t i, DType dtype, Sizes sizes) {
  if (used_.size() <= i) used_.resize(i + 1);
  auto& [last, before] = used_[i];
  if (!last.has_room_for(dtype, sizes) && before.has_room_for(dtype, sizes)) std::swap(last, before);
  if (last.has_room_for(dtype, sizes)) return Tensor::with_memory_of(last, dtype, std::move(sizes));
  if (last.is_shared()) before = std::move(last);
  last = Tensor();  // too small: freed before its successor is allocated
  return last = Tensor(dtype, std::move(sizes));
}

std::vector<Tensor> DeviceResultMemory::take(const std::vector<Result>& results) {
  const auto is_free = [&](const Set& set) {
    return std::none_of(results.begin(), results.end(),
                        [&](const Result& r) { return r.i < set.size() && set[r.i].is_shared(); });
  };
  const auto set = std::find_if(sets_.begin(), sets_.end(), is_free);
  std::vector<Tensor> taken;
  taken.reserve(results.size());
  for (const Result& r : results) {
    if (set == sets_.end()) {
      taken.emplace_back(r.dtype, r.sizes, backend_);
      continue;
    }
    if (set->size() <= r.i) set->resize(r.i + 1);
    DeviceMemory& memory = (*set)[r.i];
    memory.reserve(backend_, tensor_bytes(r.dtype, r.sizes));
    taken.emplace_back(r.dtype, r.sizes, backend_, memory);
  }
  return taken;
}

}  // namespace graphrun
