// Matrix products inside a loop that a device runs as one launch.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "ops/generated/loop_part.h"
#include "ops/matmul/group.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// The form in which a device's matrix units multiply (runtime/cuda/matrix_units.h).
struct UnitForm {
  const char* type;
  const char* name;
  int in_word;
};
// That of float32 products.
const UnitForm& unit_form(ProductPrecision precision);

// Products whose right factors are the same at every step.
struct ProductPart {
  // Bytes of left factors that the blocks of a loop pass to each other, at most.
  std::size_t passed_bytes() const;

  ProductGroup group;
  DType dtype = DType::kFloat32;
  ProductPrecision precision = ProductPrecision::kFloat32;  // of float32, on a device with matrix units
};

// Lets products be part of such loops if every right factor is constant and no left factor is read transposed.
inline void take_part(Kernel& kernel, const KernelRequest& request, const ProductGroup& group) {
  if (group.products.size() > ProductGroup::kMostFactors) return;
  auto columns = std::make_shared<ColumnKernel>();
  columns->columns = group.products[0].n;
  columns->reads_other_columns.assign(request.inputs.size(), false);
  for (std::size_t i = 0; i < group.products.size(); ++i) {
    const MatrixProduct& p = group.products[i];
    if (!request.is_constant(group.b(i)) || p.transpose_a || p.m == 0 || p.n == 0 || p.k == 0) return;
    columns->reads_other_columns[group.a(i)] = true;
  }
  kernel.by_columns = std::move(columns);
  ProductPart part{group, request.outputs[0].dtype, request.products};
  kernel.passed_bytes = part.passed_bytes();
  kernel.part = loop_part(std::move(part));
  const Sizes& result = request.outputs[0].sizes;
  if (result.size() < 2) return;
  double operations = 0;
  std::vector<bool> reads_other_rows(request.inputs.size(), true);
  for (std::size_t i = 0; i < group.products.size(); ++i) {
    const MatrixProduct& p = group.products[i];
    const Sizes& left = request.inputs[group.a(i)].sizes;
    operations += static_cast<double>(p.m * p.n * p.k);
    reads_other_rows[group.a(i)] = left.size() != result.size() || left[0] != result[0];
  }
  share_by_rows(kernel, request, operations, std::move(reads_other_rows));
}

}  // namespace graphrun
