// cuBLAS's gemmStridedBatched as plain loops, with its column-major arguments, so that the arguments are tested without cuBLAS.
#include "runtime/cuda/blas.h"
#include "runtime/cuda/matrix_units.h"

namespace graphrun::cuda {
namespace {

// Rounds one number, as matrix units do with each number of a word.
template <class Form>
float rounded_to(float x) {
  if constexpr (Form::kInWord == 1) return Form::number(Form::word({x}), 0);
  if constexpr (Form::kInWord == 2) return Form::number(Form::word({x, 0}), 0);
}
float rounded(float x, ProductPrecision precision) {
  switch (precision) {
    case ProductPrecision::kTf32: return rounded_to<Tf32>(x);
    case ProductPrecision::kBFloat16: return rounded_to<BFloat16>(x);
    case ProductPrecision::kFloat32: break;
  }
  return x;
}
double rounded(double x, ProductPrecision) { return x; }
float rounded(std::uint16_t half, ProductPrecision) { return float_of(static_cast<unsigned>(half) << 16); }

template <class From, class T>
void multiply(const ColumnMajorCall& p, ProductPrecision precision, const From* first, const From* second, T* result) {
  for (std::int64_t i = 0; i < p.count; ++i, first += p.first_step, second += p.second_step, result += p.result_step) {
    for (std::int64_t column = 0; column < p.n; ++column) {
      for (std::int64_t row = 0; row < p.m; ++row) {
        T sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const From a = p.transpose_first ? first[k + row * p.first_rows] : first[row + k * p.first_rows];
          const From b = p.transpose_second ? second[column + k * p.second_rows] : second[k + column * p.second_rows];
          sum += rounded(a, precision) * rounded(b, precision);
        }
        T& y = result[row + column * p.result_rows];
        y = p.beta == 0 ? sum : y * static_cast<T>(p.beta) + sum;
      }
    }
  }
}

}  // namespace

void multiply_column_major(void* stream, const ColumnMajorCall& call, ProductPrecision precision, const float* first,
                           const float* second, float* result) {
  check_stream(stream);
  do_or_note([=] { multiply(call, precision, first, second, result); });
}
void multiply_column_major(void* stream, const ColumnMajorCall& call, ProductPrecision precision, const double* first,
                           const double* second, double* result) {
  check_stream(stream);
  do_or_note([=] { multiply(call, precision, first, second, result); });
}

void multiply_column_major(void* stream, const ColumnMajorCall& call, const std::uint16_t* first, const std::uint16_t* second,
                           float* result) {
  check_stream(stream);
  do_or_note([=] { multiply(call, ProductPrecision::kBFloat16, first, second, result); });
}
bool has_matrix_units_on(void*) { return true; }

void side_by_side(void* stream, std::size_t count, const std::function<void(std::size_t, void*)>& work) {
  for (std::size_t i = 0; i < count; ++i) work(i, stream);
}

}  // namespace graphrun::cuda
