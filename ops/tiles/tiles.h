// The CPU's pointwise primitives: one function for each line of the table and each element type, compiled for every instruction
// set and chosen when the program starts. A tile is a run of elements, most often one that fits the first-level cache.
#pragma once

#include <cstddef>

#include "runtime/base/dtype.h"

namespace graphrun {

// out[i] = op(in[0][i], in[1][i], …) for i < n; where scalar[k], in[k] is one element that stands for all. `out` may be one of
// the operands. No alignment is asked for. What an element becomes depends on its operands alone: not on n, nor on its place.
using PointwiseTile = void (*)(const void* const* in, const bool* scalar, void* out, std::size_t n);

// The tile of line `line` of pointwise_table() on elements of `dtype` (where: of a and b); null where the line's promotion
// admits no such type.
PointwiseTile pointwise_tile(std::size_t line, DType dtype);

}  // namespace graphrun
