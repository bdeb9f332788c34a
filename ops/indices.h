// Checks indices that come from the data.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/tensor/tensor.h"

namespace graphrun {

// Throws UserError (kBadData) naming the first index outside [0, bound), its position and the bound. `what` begins the message:
// "gather: index". Call it before anything is written, on one thread.
void check_indices(const TensorView& indices, std::int64_t bound, std::string_view what);
// The same, for indices [begin, end) only.
void check_indices(const TensorView& indices, std::int64_t begin, std::int64_t end, std::int64_t bound, std::string_view what);

// Throws their error, for an operand of these sizes that has `index` at a position.
[[noreturn]] void refuse_index(const Sizes& sizes, std::int64_t position, std::int32_t index, std::int64_t bound,
                               std::string_view what);

}  // namespace graphrun
