// Vectorized softmax and log_softmax along one axis of float tensors, and their gradients. Positions at or beyond the length
// are neither read nor counted; results there are 0.
#pragma once

#include "ops/reduce/columns.h"

namespace graphrun {

// out = exp(x) / sum(exp(x)).
void softmax_along(const ReduceTask<float>& task);
void softmax_along(const ReduceTask<double>& task);
// out = x - log(sum(exp(x))).
void log_softmax_along(const ReduceTask<float>& task);
void log_softmax_along(const ReduceTask<double>& task);
// out = y * (g - sum(g * y)), with y the softmax.
void softmax_gradient_along(const ReduceTask<float>& task);
void softmax_gradient_along(const ReduceTask<double>& task);
// out = g - exp(y) * sum(g), with y the log_softmax.
void log_softmax_gradient_along(const ReduceTask<float>& task);
void log_softmax_gradient_along(const ReduceTask<double>& task);
}  // namespace graphrun
