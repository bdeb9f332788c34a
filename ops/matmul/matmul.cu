// Matrix products on CUDA with cuBLAS: matmul, matmul_reduce and the products that the pass `merge` combines.
#include "ops/device_indices.h"
#include "ops/dispatch.h"
#include "ops/matmul/gather_matmul.h"
#include "ops/matmul/plan.h"
#include "ops/matmul/precision.h"
#include "ops/matmul/product_part.h"
#include "ops/schema.h"
#include "runtime/cuda/blas.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

using cuda::RowMajorProduct;

RowMajorProduct row_major(const MatrixProduct& p) {
  return {p.m, p.n, p.k, p.transpose_a, p.transpose_b, p.accumulate, 1, 0, 0, 0};
}

// A product with an empty summed axis is 0, which not every library implements.
template <class T>
void multiply_rows(const KernelContext& c, const RowMajorProduct& p, ProductPrecision precision, const T* a, const T* b, T* y) {
  if (p.k > 0) return cuda::multiply_rows(c.stream, p, precision, a, b, y);
  if (p.accumulate) return;
  cuda::for_elements(
      c, p.m * p.n * p.count, GRAPHRUN_LAMBDA(std::int64_t i) { y[i] = 0; });
}

// A run of products whose factors are at constant strides.
struct ProductRun {
  std::int64_t first = 0;  // index in the batch
  RowMajorProduct product;
};
std::vector<ProductRun> runs_of(const ProductPlan& plan) {
  std::vector<ProductRun> runs;
  for (std::size_t i = 0; i < plan.batch.size(); ++i) {
    const auto step = [&](auto member) { return i == 0 ? 0 : plan.batch[i].*member - plan.batch[i - 1].*member; };
    const std::int64_t a_step = step(&ProductOffsets::a), b_step = step(&ProductOffsets::b);
    if (!runs.empty()) {
      RowMajorProduct& p = runs.back().product;
      if (p.count == 1) p.a_step = a_step, p.b_step = b_step;
      if (a_step >= 0 && b_step >= 0 && p.a_step == a_step && p.b_step == b_step) {
        ++p.count;
        continue;
      }
      if (p.count == 1) p.a_step = p.b_step = 0;
    }
    runs.push_back({static_cast<std::int64_t>(i), row_major(plan.product)});
    runs.back().product.c_step = plan.product.m * plan.product.n;
  }
  return runs;
}

template <class T>
Kernel plan_kernel(const ProductPlan& plan, ProductPrecision precision) {
  return {[plan, precision, runs = runs_of(plan)](const KernelContext& c) {
    for (const ProductRun& run : runs) {
      const ProductOffsets& at = plan.batch[static_cast<std::size_t>(run.first)];
      multiply_rows(c, run.product, precision, c.inputs[0].as<const T>() + at.a, c.inputs[1].as<const T>() + at.b,
                    c.outputs[0].as<T>() + run.first * run.product.c_step);
    }
  }};
}

Kernel bind_plan(const KernelRequest& request, const ProductPlan& plan) {
  return with_float(request.outputs.at(0).dtype,
                    [&](auto zero) { return plan_kernel<decltype(zero)>(plan, request.products); });
}
REGISTER_KERNEL("matmul", kCuda, [](const KernelRequest& given) {
  const KernelRequest request = in_own_precision(given);
  const ProductPlan plan = plan_matmul(request);
  Kernel kernel = bind_plan(request, plan);
  if (plan.one_factor) take_part(kernel, request, {ProductGroup::Kind::kMany, {plan.product}});
  return kernel;
});
REGISTER_KERNEL("matmul_reduce", kCuda, [](const KernelRequest& request) {
  return bind_plan(in_own_precision(request), {plan_matmul_reduce(request), {{0, 0}}, false});
});

template <class T>
Kernel group_kernel(const ProductGroup& group, ProductPrecision precision) {
  return {[group, precision](const KernelContext& c) {
    for (std::size_t i = 0; i < group.products.size(); ++i) {
      multiply_rows(c, row_major(group.products[i]), precision, c.inputs[group.a(i)].as<const T>(),
                    c.inputs[group.b(i)].as<const T>(), c.outputs[group.y(i)].as<T>());
    }
  }};
}

Kernel bind_group(const KernelRequest& given, const ProductGroup& group) {
  const KernelRequest request = in_own_precision(given);
  Kernel kernel =
      with_float(request.outputs.at(0).dtype, [&](auto zero) { return group_kernel<decltype(zero)>(group, request.products); });
  take_part(kernel, request, group);
  return kernel;
}
REGISTER_KERNEL("matmul_many", kCuda, [](const KernelRequest& r) { return bind_group(r, plan_matmul_many(r)); });
REGISTER_KERNEL("matmul_reduce_many", kCuda, [](const KernelRequest& r) { return bind_group(r, plan_matmul_reduce_many(r)); });
REGISTER_KERNEL("matmul_sum", kCuda, [](const KernelRequest& r) { return bind_group(r, plan_matmul_sum(r)); });

// Nothing is kept from run to run: the rows are gathered, then multiplied.
template <class T>
Kernel gather_products_kernel(const KernelRequest& request) {
  const KernelRequest products = product_request(request);
  const ProductGroup group = plan_gather_matmul(products, request.attributes->boolean("transpose_b"));
  const std::int64_t table_rows = request.inputs[0].sizes[0], count = products.inputs[0].count();
  Kernel kernel{[group, table_rows, count, precision = request.products](const KernelContext& c) {
                  cuda::check_device_indices(c, c.inputs[1], table_rows);
                  if (table_rows == 0) return;  // there is nothing to index, which was reported
                  const std::int64_t k = group.products[0].k;
                  const auto* indices = c.inputs[1].as<const std::int32_t>();
                  const T* table = c.inputs[0].as<const T>();
                  const auto* keep = c.inputs[2].as<const std::uint8_t>();  // null: absent
                  T* rows = static_cast<T*>(c.workspace);
                  cuda::for_elements(
                      c, count, GRAPHRUN_LAMBDA(std::int64_t e) {
                        const std::int64_t row = e / k;
                        const bool kept = keep == nullptr || keep[row] != 0;
                        rows[e] = kept ? table[cuda::clamped(indices[row], table_rows) * k + e % k] : T(0);
                      });
                  for (std::size_t i = 0; i < group.products.size(); ++i) {
                    multiply_rows(c, row_major(group.products[i]), precision, static_cast<const T*>(rows),
                                  c.inputs[i + kGatherMatmulMatrix].as<const T>(), c.outputs[i].as<T>());
                  }
                },
                products.inputs[0].bytes()};
  kernel.refuse = cuda::refusal(request.inputs[1], table_rows, "gather: index");
  return kernel;
}
REGISTER_KERNEL("gather_matmul", kCuda, [](const KernelRequest& given) {
  const KernelRequest request = in_own_precision(given);
  return with_float(request.outputs.at(0).dtype, [&](auto zero) { return gather_products_kernel<decltype(zero)>(request); });
});

}  // namespace
}  // namespace graphrun
