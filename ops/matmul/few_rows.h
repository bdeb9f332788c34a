// Products whose left factors have few rows and whose right factors are constant, inside a scan that a device runs launch by
// launch: the decoder of a translator, for example. Each group of products is one launch (ops/matmul/few_rows_device.h).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/matmul/group.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// How such products are divided, and the kernel for it.
struct FewRowsPlan {
  ProductGroup group;
  ProductPrecision precision;
  std::int64_t steps = 0, tiles = 0;  // of the summed axes of all terms; column tiles of all results
  int warps = 0, row_warps = 1;       // of a block: how many; how many divide its rows
  int parts = 0;                      // blocks of a cluster, which divide the summed axis
  int row_tiles = 0, warp_columns = 1;
  std::int64_t clusters = 0;
  std::size_t shared = 0, packed = 0;  // bytes: of a block's memory, and of the right factors as they are stored
  DeviceText text;
  ArgumentLayout arguments;
  std::vector<Argument> left, results;
  Argument right, wide;

  std::size_t terms() const { return group.kind == ProductGroup::Kind::kSum ? group.products.size() : 1; }
  std::size_t groups() const { return group.kind == ProductGroup::Kind::kMany ? group.products.size() : 1; }
};

// Nothing if the products cannot run in this way: on a device without clusters or matrix units, with right factors that change,
// with more than 128 rows, or with longer summed axes than a cluster has room for. The right factors are rounded to the
// request's precision when they are prepared, the left factors when they are multiplied; sums are float32, in an order that
// sizes alone determine.
std::optional<FewRowsPlan> plan_few_rows(const KernelRequest& request, const ProductGroup& group);

// On CUDA: the kernel, or null.
std::shared_ptr<const PreparedKernel> few_rows_kernel(const KernelRequest& request, const ProductGroup& group);

}  // namespace graphrun
