// Initial values of variables. Every number is a pure function of the seed, the variable's name and the element's index: the
// order of the variables, the number of threads and the precision do not change it.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/execute/executable.h"
#include "runtime/program/program.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

using Init = VariableSpec::Init;

constexpr std::int64_t kDrawGrain = 4096;  // elements; even, so that each pair is drawn once

// Two numbers in [0, 1), for elements 2*pair and 2*pair + 1.
std::pair<double, double> unit_pair(std::uint64_t key, std::int64_t pair) {
  const auto counter = static_cast<std::uint64_t>(pair);
  const Philox draw = philox(key, static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0);
  return {unit_double(draw.v[0], draw.v[1]), unit_double(draw.v[2], draw.v[3])};
}

std::pair<double, double> uniform_pair(std::uint64_t key, std::int64_t pair) {
  const auto [a, b] = unit_pair(key, pair);
  return {2 * a - 1, 2 * b - 1};
}

// Box and Muller 1958.
std::pair<double, double> normal_pair(std::uint64_t key, std::int64_t pair) {
  constexpr double kTwoPi = 6.283185307179586476925;
  const auto [a, b] = unit_pair(key, pair);
  const double radius = std::sqrt(-2 * std::log(1 - a));
  return {radius * std::cos(kTwoPi * b), radius * std::sin(kTwoPi * b)};
}

template <class T, class Pair>
void draw(Tensor& tensor, std::uint64_t key, double scale, Pair pair) {
  T* const out = tensor.data<T>();
  parallel_ranges(tensor.count(), kDrawGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += 2) {
      const auto [a, b] = pair(key, i / 2);
      out[i] = static_cast<T>(scale * a);
      if (i + 1 < end) out[i + 1] = static_cast<T>(scale * b);
    }
  });
}

template <class Pair>
void draw(Tensor& tensor, std::uint64_t key, double scale, Pair pair) {
  if (tensor.dtype() == DType::kFloat32) {
    draw<float>(tensor, key, scale, pair);
  } else {
    draw<double>(tensor, key, scale, pair);
  }
}

double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void subtract(double* a, const double* b, double times, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) a[i] -= times * b[i];
}

// Makes `count` vectors of n numbers orthonormal by modified Gram-Schmidt, in panels that stay in the cache while all later
// vectors are orthogonalized against them; each vector is still reduced by the others in order. The diagonal of the factor R is
// positive, so normally distributed input gives uniformly distributed orthogonal matrices (Mezzadri 2007).
void orthonormalize(double* vectors, std::int64_t count, std::int64_t n) {
  constexpr std::int64_t kPanel = 32;
  const auto vector = [&](std::int64_t i) { return vectors + i * n; };
  for (std::int64_t first = 0; first < count; first += kPanel) {
    const std::int64_t last = std::min(first + kPanel, count);
    for (std::int64_t k = first; k < last; ++k) {
      const double norm = std::sqrt(dot(vector(k), vector(k), n));
      for (std::int64_t i = 0; i < n; ++i) vector(k)[i] /= norm;
      for (std::int64_t j = k + 1; j < last; ++j) subtract(vector(j), vector(k), dot(vector(k), vector(j), n), n);
    }
    const std::int64_t grain = std::max<std::int64_t>(1, 65536 / (kPanel * n));
    parallel_ranges(count - last, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = last + begin; j < last + end; ++j) {
        for (std::int64_t k = first; k < last; ++k) subtract(vector(j), vector(k), dot(vector(k), vector(j), n), n);
      }
    });
  }
}

// Each matrix of the last two axes gets orthonormal columns, or orthonormal rows if it has more columns than rows.
Tensor orthogonal(const VariableSpec& variable, const Sizes& sizes, std::uint64_t key) {
  if (sizes.size() < 2) {
    throw UserError(ExitCode::kInvalidGraph, "E0313 bad-initializer",
                    "'" + variable.name + "' of shape " + str(sizes) + " cannot start orthogonal; expected a matrix",
                    {"help: initialize it in another way, or name only matrices"});
  }
  Tensor drawn(DType::kFloat64, sizes);
  draw<double>(drawn, key, 1, normal_pair);
  const std::int64_t rows = sizes[sizes.size() - 2], columns = sizes.back(), size = rows * columns;
  if (size == 0) return drawn;
  const bool tall = rows > columns;
  Tensor transposed(DType::kFloat64, {columns, rows});  // makes each vector contiguous
  for (std::int64_t at = 0; at < drawn.count(); at += size) {
    double* const matrix = drawn.data<double>() + at;
    if (!tall) {
      orthonormalize(matrix, rows, columns);
      continue;
    }
    double* const across = transposed.data<double>();
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) across[c * rows + r] = matrix[r * columns + c];
    }
    orthonormalize(across, columns, rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) matrix[r * columns + c] = across[c * rows + r];
    }
  }
  return drawn;
}

// Glorot and Bengio 2010: the last two axes are the fan-in and fan-out; for a vector, the other is 1.
double xavier_bound(const Sizes& sizes) {
  const double to = sizes.empty() ? 1 : static_cast<double>(sizes.back());
  const double from = sizes.size() < 2 ? 1 : static_cast<double>(sizes[sizes.size() - 2]);
  return from + to > 0 ? std::sqrt(6 / (from + to)) : 0;
}

Tensor filled(DType dtype, const Sizes& sizes, double value) {
  Tensor tensor(dtype, sizes);
  if (value == 0) return tensor;
  switch (dtype) {
    case DType::kFloat32: std::fill_n(tensor.data<float>(), tensor.count(), static_cast<float>(value)); break;
    case DType::kFloat64: std::fill_n(tensor.data<double>(), tensor.count(), value); break;
    case DType::kInt32: std::fill_n(tensor.data<std::int32_t>(), tensor.count(), static_cast<std::int32_t>(value)); break;
    case DType::kBool: std::fill_n(tensor.data<std::uint8_t>(), tensor.count(), std::uint8_t{1}); break;
  }
  return tensor;
}

}  // namespace

Tensor initial_value(const VariableSpec& variable, std::uint64_t seed) {
  for (const Dim& dim : variable.shape)
    GRAPHRUN_CHECK(dim.is_constant(), "initial_value: '" + variable.name + "' has no known size");
  const Sizes sizes = evaluate(variable.shape, {});
  if (variable.init == Init::kConstant) return filled(variable.dtype, sizes, variable.init_amount);
  const bool is_float = variable.dtype == DType::kFloat32 || variable.dtype == DType::kFloat64;
  GRAPHRUN_CHECK(is_float, "initial_value: '" + variable.name + "' is no FLOAT");

  const std::uint64_t key = fold_coordinate(seed, hash_name(variable.name.data(), variable.name.size()));
  if (variable.init == Init::kOrthogonal) {
    Tensor matrix = orthogonal(variable, sizes, key);
    for (double& x : matrix.span<double>()) x *= variable.init_amount;
    return variable.dtype == DType::kFloat64 ? matrix : matrix.converted(variable.dtype);
  }
  Tensor tensor(variable.dtype, sizes);
  switch (variable.init) {
    case Init::kUniform: draw(tensor, key, variable.init_amount, uniform_pair); break;
    case Init::kNormal: draw(tensor, key, variable.init_amount, normal_pair); break;
    default: draw(tensor, key, variable.init_amount * xavier_bound(sizes), uniform_pair); break;
  }
  return tensor;
}

void initialize(const Program& program, Variables& variables, std::uint64_t seed) {
  for (const VariableSpec& variable : program.variables) {
    if (variable.kind == VariableSpec::Kind::kState || variables.has(variable.name)) continue;
    variables.set(variable.name, initial_value(variable, seed));
  }
}

}  // namespace graphrun
