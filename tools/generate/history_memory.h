// Histories in the host's memory: states [capacity, …] whose first `steps` positions have been written and whose other
// positions are zeros.
//
// Their memory grows by half of its size, while their capacity grows by a few steps (GraphSearchOptions::room), and a search
// can begin in the memory of the last: fresh memory costs page faults (ResultMemory). Each function works in place if no other
// tensor shares the memory of the given history and that memory is large enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/tensor/tensor.h"

namespace graphrun {

// A history without steps, in the memory of `spare`, which may be empty.
Tensor begin_history(Tensor spare, DType dtype, Sizes sizes);

// The history with a capacity that is at least as large as before.
Tensor grow_history(Tensor history, std::int64_t steps, std::int64_t capacity);

// Row r of the result, along an axis after the first, is row rows[r] of the history.
Tensor history_with_rows(Tensor history, std::size_t axis, const std::vector<std::int64_t>& rows, std::int64_t steps);

}  // namespace graphrun
