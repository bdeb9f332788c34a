#include "runtime/tensor/result_memory.h"

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

}  // namespace graphrun
