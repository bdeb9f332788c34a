// Vectorized cross entropy of rows of logits: forward takes one pass over a row while it is in the cache, backward one more.
#pragma once

#include <cstdint>

namespace graphrun {

// Rows [begin, end) of logits [rows, classes]; the targets have been checked.
template <class T>
struct CrossEntropyTask {
  const T* logits = nullptr;
  const std::int32_t* target = nullptr;
  std::int64_t classes = 0;
  T smoothing = 0;
  T* nll = nullptr;       // forward: the result; backward: the result of forward
  const T* g = nullptr;   // backward: the gradient of nll
  T* d_logits = nullptr;  // backward: the result; may alias the logits
  std::int64_t begin = 0, end = 0;
};

// nll = logsumexp(logits) - (1 - smoothing) * logits[target] - smoothing * mean(logits)
void cross_entropy_rows(const CrossEntropyTask<float>& task);
void cross_entropy_rows(const CrossEntropyTask<double>& task);
// d_logits = g * (softmax(logits) - smoothing / classes - (1 - smoothing) * one_hot(target)); 0 where g is 0.
void cross_entropy_gradient_rows(const CrossEntropyTask<float>& task);
void cross_entropy_gradient_rows(const CrossEntropyTask<double>& task);

}  // namespace graphrun
