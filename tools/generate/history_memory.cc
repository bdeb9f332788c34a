#include "tools/generate/history_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/status.h"
#include "tools/generate/host_rows.h"

namespace graphrun {
namespace {

// Zeros, in memory with room for half as many steps again. Large memory takes none of the machine's until it is touched.
Tensor fresh(DType dtype, const Sizes& sizes) {
  Sizes more = sizes;
  more[0] += more[0] / 2;
  try {
    return Tensor::with_memory_of(Tensor(dtype, std::move(more)), dtype, sizes);
  } catch (const UserError&) {  // more than the machine has
    return {dtype, sizes};
  }
}

std::int64_t bytes_of_step(const Tensor& history) {
  return static_cast<std::int64_t>(history.bytes()) / std::max<std::int64_t>(1, history.sizes()[0]);
}

void clear_steps(Tensor& history, std::int64_t begin) {
  const std::int64_t step = bytes_of_step(history), count = std::max<std::int64_t>(0, history.sizes()[0] - begin);
  std::memset(static_cast<char*>(history.raw()) + begin * step, 0, static_cast<std::size_t>(count * step));
}

}  // namespace

Tensor begin_history(Tensor spare, DType dtype, Sizes sizes) {
  if (!spare.has_room_for(dtype, sizes)) {
    spare = Tensor();  // freed before its successor is allocated
    return fresh(dtype, sizes);
  }
  Tensor history = Tensor::with_memory_of(spare, dtype, std::move(sizes));
  clear_steps(history, 0);
  return history;
}

Tensor grow_history(Tensor history, std::int64_t steps, std::int64_t capacity) {
  Sizes sizes = history.sizes();
  sizes[0] = capacity;
  if (!history.has_room_for(history.dtype(), sizes)) {
    Tensor larger = fresh(history.dtype(), sizes);
    std::memcpy(larger.raw(), history.raw(), static_cast<std::size_t>(steps * bytes_of_step(history)));
    return larger;
  }
  Tensor grown = Tensor::with_memory_of(history, history.dtype(), std::move(sizes));
  clear_steps(grown, steps);
  return grown;
}

Tensor history_with_rows(Tensor history, std::size_t axis, const std::vector<std::int64_t>& rows, std::int64_t steps) {
  Sizes sizes = history.sizes();
  sizes[axis] = static_cast<std::int64_t>(rows.size());
  if (!history.has_room_for(history.dtype(), sizes)) {
    Tensor copy = fresh(history.dtype(), sizes);
    copy_rows(history, copy, axis, rows, steps);
    return copy;
  }
  Tensor selected = select_rows_in_place(std::move(history), axis, rows, steps);
  clear_steps(selected, steps);
  return selected;
}

}  // namespace graphrun
