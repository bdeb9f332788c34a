// Products of a few rows on a device: a matrix times vectors. Reading the matrix takes most of the time, so it is read once, by
// as many blocks as there is work for; on a device with clusters, the blocks of one divide the matrix's rows. cuBLAS takes 1.5
// to 5 times as long for one row of 620 to 2000 numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/device_indices.h"
#include "ops/matmul/group.h"
#include "runtime/base/rounding.h"
#include "runtime/tensor/backend.h"

namespace graphrun {

// Products of up to kMostRows rows, float32: y_g [rows, columns] = Σ_t a_t [rows, inner_t] · b_i, with several terms or several
// results. b_i is [inner, columns], or [columns, inner] if transposed; factors are rounded to `precision`.
struct VectorProducts {
  static constexpr std::int64_t kMostRows = 4;
  static constexpr std::size_t kMostFactors = ProductGroup::kMostFactors;

  const float *left[kMostFactors] = {}, *right[kMostFactors] = {};
  float* results[kMostFactors] = {};
  int inner[kMostFactors] = {};  // by term
  int terms = 1, groups = 1, rows = 0, columns = 0;
  int parts = 1;  // blocks of a cluster, which divide the summed axes: vector_parts()
  bool transposed = false;
  // Row r of the one left factor is row indices[r] of a table with `table_rows` rows, or all zeros if keep[r] is 0. Without
  // indices, it is row r of the factor itself; if keep is null, no row is replaced by zeros.
  cuda::CheckedIndices indices = {};
  const std::uint8_t* keep = nullptr;
  std::int64_t table_rows = 0;
};

// Whether a group's products run in this way.
bool are_vector_products(const ProductGroup& group);

// How many blocks divide the summed axes of such products: 1, 2, 4 or 8, on a device with clusters the most with which all
// blocks still run at once and each has enough rows.
int vector_parts(const ProductGroup& group, const DeviceLimits& limits);

// A group's products; a(i), b(i) and y(i) return the operands of product i. The order of an element's sum depends on the sizes,
// on `parts`, and on whether addresses are multiples of 16.
template <class A, class B, class Y>
VectorProducts vector_products(const ProductGroup& group, int parts, const A& a, const B& b, const Y& y) {
  const MatrixProduct& first = group.products[0];
  const std::size_t terms = group.terms(), groups = group.groups();
  VectorProducts p;
  p.terms = static_cast<int>(terms), p.groups = static_cast<int>(groups);
  p.rows = static_cast<int>(first.m), p.columns = static_cast<int>(first.n), p.transposed = first.transpose_b;
  p.parts = parts;
  for (std::size_t i = 0; i < group.products.size(); ++i) p.right[i] = b(i);
  for (std::size_t t = 0; t < terms; ++t) p.left[t] = a(t), p.inner[t] = static_cast<int>(group.products[t].k);
  for (std::size_t g = 0; g < groups; ++g) p.results[g] = y(g);
  return p;
}

// Launches them; on the emulated device, runs them.
void multiply_vectors(void* stream, const VectorProducts& products, ProductPrecision precision);

}  // namespace graphrun
