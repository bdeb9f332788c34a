// What instructions of a scan's body are in a loop that a device runs as one launch (runtime/loop.h).
#pragma once

#include <memory>

#include "ops/matmul/group.h"
#include "ops/pointwise/device_code.h"
#include "runtime/kernel.h"

namespace graphrun {

// Products whose right factors are the same at every step.
struct ProductPart : LoopPart {
  ProductPart(ProductGroup g, DType d, ProductPrecision p) : group(std::move(g)), dtype(d), precision(p) {}
  // How many left factors are added up, and how many results stand side by side.
  std::size_t terms() const { return group.kind == ProductGroup::Kind::kSum ? group.products.size() : 1; }
  std::size_t groups() const { return group.kind == ProductGroup::Kind::kMany ? group.products.size() : 1; }

  ProductGroup group;
  DType dtype;
  ProductPrecision precision;  // of float32, on a device with matrix units
};

// Pointwise work whose results all have the program's shape.
struct PointwisePart : LoopPart {
  PointwisePart(std::shared_ptr<const DeviceCode> c, std::size_t r) : code(std::move(c)), results(r) {}
  std::shared_ptr<const DeviceCode> code;
  std::size_t results;
};

// Makes pointwise work a part of loops: its last axis is shared out.
inline void take_part(Kernel& kernel, const KernelRequest& request, std::shared_ptr<const DeviceCode> code) {
  const Sizes& result = code->sizes();
  if (result.empty() || code->operands().empty()) return;
  auto columns = std::make_shared<ColumnKernel>();
  columns->columns = result.back();
  for (const TensorView& v : request.inputs)
    columns->reads_other_columns.push_back(v.sizes.empty() || v.sizes.back() != result.back());
  kernel.by_columns = std::move(columns);
  kernel.part = std::make_shared<PointwisePart>(std::move(code), request.outputs.size());
}

// Makes products a part of loops, where every right factor is constant and no left one is read transposed.
inline void take_part(Kernel& kernel, const KernelRequest& request, const ProductGroup& group) {
  constexpr std::size_t kMostFactors = 8;
  if (group.products.size() > kMostFactors) return;
  auto columns = std::make_shared<ColumnKernel>();
  columns->columns = group.products[0].n;
  columns->reads_other_columns.assign(request.inputs.size(), false);
  for (std::size_t i = 0; i < group.products.size(); ++i) {
    const Product& p = group.products[i];
    if (!request.is_constant(group.b(i)) || p.transpose_a || p.m == 0 || p.n == 0 || p.k == 0) return;
    columns->reads_other_columns[group.a(i)] = true;
  }
  kernel.by_columns = std::move(columns);
  kernel.part = std::make_shared<ProductPart>(group, request.outputs[0].dtype, request.products);
}

}  // namespace graphrun
