// Which products the matrix ops stand for, whatever device computes them.
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

// Products of one size over a batch. Where a factor is shared by the whole batch, its step is 0.
struct ProductPlan {
  Product product;
  std::vector<ProductOffsets> batch;  // of each product's factors, in elements; the results lie side by side
  bool one_factor = false;            // the right factor is one matrix, and all is one product
};

ProductPlan plan_matmul(const KernelRequest& request);
Product plan_matmul_reduce(const KernelRequest& request);
ProductGroup plan_matmul_many(const KernelRequest& request);
ProductGroup plan_matmul_reduce_many(const KernelRequest& request);
ProductGroup plan_matmul_sum(const KernelRequest& request);

}  // namespace graphrun
