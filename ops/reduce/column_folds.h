// The building blocks of folds, for the text of generated reductions.
#pragma once

#include "ops/generated/device_functions.h"
#include "ops/reduce/column.h"

namespace graphrun::cuda {

// The maximum of the elements so far, and the sum of the exponentials of their differences from it (from 0 if it is not
// finite).
template <class T>
struct LogSum {
  T most, sum;
};

template <class T>
GRAPHRUN_DEVICE LogSum<T> log_sum_of(T x) {
  return {x, x - x == T(0) ? T(1) : element::exp(x)};
}
template <class T>
GRAPHRUN_DEVICE LogSum<T> joined(LogSum<T> a, LogSum<T> b) {
  const T most = larger(a.most, b.most), shift = finite_or_zero(most);
  const auto moved = [shift](LogSum<T> v) {
    return v.sum == T(0) ? T(0) : v.sum * element::exp(finite_or_zero(v.most) - shift);
  };
  return {most, moved(a) + moved(b)};
}
// The logarithm of the sum of exponentials; 0 for n = 0 elements.
template <class T>
GRAPHRUN_DEVICE T logarithm(LogSum<T> v, std::int64_t n) {
  return n == 0 ? T(0) : element::log(v.sum) + finite_or_zero(v.most);
}

template <class T>
GRAPHRUN_DEVICE LogSum<T> of_other(LogSum<T> mine, int distance) {
  return {of_other(mine.most, distance), of_other(mine.sum, distance)};
}

}  // namespace graphrun::cuda
