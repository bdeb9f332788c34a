// cuBLAS's gemmStridedBatched in loops, with its column-major arguments, so that what is handed to it is tested without it.
#include "runtime/cuda/blas.h"

namespace graphrun::cuda {
namespace {

template <class T>
void multiply(const ColumnMajorCall& p, const T* first, const T* second, T* result) {
  for (std::int64_t i = 0; i < p.count; ++i, first += p.first_step, second += p.second_step, result += p.result_step) {
    for (std::int64_t column = 0; column < p.n; ++column) {
      for (std::int64_t row = 0; row < p.m; ++row) {
        T sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const T a = p.transpose_first ? first[k + row * p.first_rows] : first[row + k * p.first_rows];
          const T b = p.transpose_second ? second[column + k * p.second_rows] : second[k + column * p.second_rows];
          sum += a * b;
        }
        T& y = result[row + column * p.result_rows];
        y = p.beta == 0 ? sum : y * static_cast<T>(p.beta) + sum;
      }
    }
  }
}

}  // namespace

void multiply_column_major(void*, const ColumnMajorCall& call, const float* first, const float* second, float* result) {
  multiply(call, first, second, result);
}
void multiply_column_major(void*, const ColumnMajorCall& call, const double* first, const double* second, double* result) {
  multiply(call, first, second, result);
}

}  // namespace graphrun::cuda
