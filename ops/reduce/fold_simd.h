// Vectorized sums, maxima and minima along one axis of float tensors.
#pragma once

#include "ops/reduce/columns.h"

namespace graphrun {

// out [outer, inner] from x [outer, n, inner]; positions at or beyond the length do not count; no positions give 0.
void sum_along(const ReduceTask<float>& task);
void sum_along(const ReduceTask<double>& task);
void max_along(const ReduceTask<float>& task);
void max_along(const ReduceTask<double>& task);
void min_along(const ReduceTask<float>& task);
void min_along(const ReduceTask<double>& task);
// log(sum(exp(x))).
void logsumexp_along(const ReduceTask<float>& task);
void logsumexp_along(const ReduceTask<double>& task);

// Combines the reductions of two parts of an axis: joins out[i] with x[i], for i from begin to end of the task.
void sum_into(const ReduceTask<float>& task);
void sum_into(const ReduceTask<double>& task);
void max_into(const ReduceTask<float>& task);
void max_into(const ReduceTask<double>& task);
void min_into(const ReduceTask<float>& task);
void min_into(const ReduceTask<double>& task);
void logsumexp_into(const ReduceTask<float>& task);
void logsumexp_into(const ReduceTask<double>& task);

}  // namespace graphrun
