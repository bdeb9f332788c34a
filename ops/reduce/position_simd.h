// Vectorized argmax and argmin along one axis of float tensors, down columns.
#pragma once

#include "ops/reduce/columns.h"

namespace graphrun {

// positions [outer, inner] from x [outer, n, inner]: the first of the largest or smallest; a NaN (the first one) wins over
// every number. Positions at or beyond the length do not count; no positions give 0. The values go to `out`, unless it is null.
void argmax_along(const ReduceTask<float>& task);
void argmax_along(const ReduceTask<double>& task);
void argmin_along(const ReduceTask<float>& task);
void argmin_along(const ReduceTask<double>& task);

}  // namespace graphrun
