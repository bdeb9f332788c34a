// The matrix products that an op consists of, on any device.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/matmul/group.h"
#include "ops/matmul/product.h"
#include "runtime/program/kernel.h"

namespace graphrun {

struct ProductOffsets {
  std::int64_t a, b;
};

// Products of one size over a batch. A factor that the whole batch shares has the same offset in each.
struct ProductPlan {
  MatrixProduct product;
  std::vector<ProductOffsets> batch;  // offsets of each product's factors, in elements; the results are contiguous
  bool one_factor = false;            // the right factor is one matrix, and a single product covers the batch
};

ProductPlan plan_matmul(const KernelRequest& request);
MatrixProduct plan_matmul_reduce(const KernelRequest& request);
ProductGroup plan_matmul_many(const KernelRequest& request);
ProductGroup plan_matmul_reduce_many(const KernelRequest& request);
ProductGroup plan_matmul_sum(const KernelRequest& request);

}  // namespace graphrun
