// Histories in the host's memory: states [capacity, …] whose first `steps` positions have been written and whose other
// positions are zeros.
//
// Attention is computed over all of the capacity, so that grows by a few steps at a time. Memory grows by halves instead, and
// is kept from search to search: fresh memory costs a page fault for each page, which takes longer than writing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/tensor/tensor.h"

namespace graphrun {

// A history without steps; in the memory of `spare`, which may be empty, if that has room and no other tensor shares it.
Tensor begin_history(const Tensor& spare, DType dtype, Sizes sizes);

// The history with a capacity that is at least as large as before.
Tensor grow_history(Tensor history, std::int64_t steps, std::int64_t capacity);

// Row r of the result, along an axis after the first, is row rows[r] of the history.
Tensor history_with_rows(Tensor history, std::size_t axis, const std::vector<std::int64_t>& rows, std::int64_t steps);

}  // namespace graphrun
