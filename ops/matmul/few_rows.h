// Products whose left factors have few rows, each group of them in one launch (ops/matmul/device/few_rows_device.h). In a
// scan that a device runs launch by launch, the decoder of a translator for example, constant right factors are stored before
// the first step, in the order in which threads read them; elsewhere they are read as they are, if factors are rounded.
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
  std::size_t shared = 0, packed = 0;  // bytes: of a block's memory, and of the right factors if they are stored
  DeviceText text;
  ArgumentLayout arguments;
  std::vector<Argument> left, right, results;
  Argument wide;

  bool stores() const { return packed > 0; }
};

// Nothing if the products cannot run in this way: on a device without clusters or matrix units, with more than 128 rows, or
// with longer summed axes than a cluster has room for; or if another way is faster. Right factors are rounded to the request's
// precision when they are stored, other factors when they are multiplied; sums are float32, in an order that sizes alone
// determine.
std::optional<FewRowsPlan> plan_few_rows(const KernelRequest& request, const ProductGroup& group);

// On CUDA: gives the kernel of such products this way of running, if there is one.
void run_few_rows(Kernel& kernel, const KernelRequest& request, const ProductGroup& group);

}  // namespace graphrun
