// The CPU's pointwise primitives: one function for each line of the table and each element type, compiled for every instruction
// set and chosen when the program starts. A tile is a run of elements, usually one that fits the first-level cache.
#pragma once

#include <cstddef>

#include "runtime/base/dtype.h"

namespace graphrun {

// out[i] = op(in[0][i], in[1][i], …) for i < n; if scalar[k], in[k] is one element, used for all i. `out` may alias an operand.
// No alignment is required. The value of an element depends on its operands alone: not on n, nor on its position.
using PointwiseTile = void (*)(const void* const* in, const bool* scalar, void* out, std::size_t n);

// The tile of line `line` of pointwise_table() on elements of `dtype` (for where: the type of a and b); null if the line's
// promotion does not allow that type.
PointwiseTile pointwise_tile(std::size_t line, DType dtype);

}  // namespace graphrun
