// argmax and argmin along one axis of float tensors, vectorised down columns.
#pragma once

#include "ops/reduce/columns.h"

namespace graphrun {

// positions [outer, inner] from x [outer, n, inner]: the first of the greatest or least; a NaN, as the first of its kind, wins
// over every number. Positions from their length on do not count; over nothing 0. What stands there goes to `out`, unless null.
void argmax_along(const ReduceTask<float>& task);
void argmax_along(const ReduceTask<double>& task);
void argmin_along(const ReduceTask<float>& task);
void argmin_along(const ReduceTask<double>& task);

}  // namespace graphrun
