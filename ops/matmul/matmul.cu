// Matrix products on CUDA with cuBLAS: matmul, matmul_reduce and the products that the pass `merge` combines.
#include <algorithm>
#include <type_traits>

#include "ops/device_indices.h"
#include "ops/dispatch.h"
#include "ops/matmul/device/rounded_copies.h"
#include "ops/matmul/few_rows.h"
#include "ops/matmul/gather_matmul.h"
#include "ops/matmul/plan.h"
#include "ops/matmul/precision.h"
#include "ops/matmul/product_part.h"
#include "ops/matmul/vectors.h"
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
void multiply_as_they_are(void* stream, const RowMajorProduct& p, ProductPrecision precision, const T* a, const T* b, T* y) {
  if (p.k > 0) return cuda::multiply_rows(stream, p, precision, a, b, y);
  const std::int64_t count = p.m * p.n * p.count;
  if (p.accumulate || count == 0) return;
  const auto clear = GRAPHRUN_LAMBDA(std::int64_t i) { y[i] = 0; };
  cuda::launch(stream, cuda::grid_of_elements(count), &cuda::elements_kernel<decltype(clear)>, clear, count);
}

// `scratch` has cuda::copies_bytes().
template <class T>
void multiply_rows(void* stream, const RowMajorProduct& p, ProductPrecision precision, const T* a, const T* b, T* y,
                   void* scratch) {
  if constexpr (std::is_same_v<T, float>) {
    if (cuda::multiplies_copies(p, precision) && cuda::has_matrix_units_on(stream)) {
      const cuda::RoundedCopy of_a = cuda::copy_of_a(p);
      cuda::round_factor(stream, of_a, a, scratch);
      return cuda::multiply_copies(stream, p, scratch, b, static_cast<char*>(scratch) + of_a.bytes(), y);
    }
  }
  multiply_as_they_are(stream, p, precision, a, b, y);
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

// Products of a few rows. `at`: where the factors begin in the operands.
Kernel vectors_kernel(const KernelRequest& request, const ProductGroup& group, const ProductOffsets& at = {0, 0}) {
  const int parts = vector_parts(group, request.device);
  return {[group, precision = request.products, parts, at](const KernelContext& c) {
    const auto a = [&](std::size_t i) { return c.inputs[group.a(i)].as<const float>() + at.a; };
    const auto b = [&](std::size_t i) { return c.inputs[group.b(i)].as<const float>() + at.b; };
    const auto y = [&](std::size_t i) { return c.outputs[group.y(i)].as<float>(); };
    multiply_vectors(c.stream, vector_products(group, parts, a, b, y), precision);
  }};
}

template <class T>
Kernel plan_kernel(const KernelRequest& request, const ProductPlan& plan) {
  const ProductPrecision precision = request.products;
  if constexpr (std::is_same_v<T, float>) {
    const ProductGroup alone{ProductGroup::Kind::kMany, {plan.product}};
    if (plan.batch.size() == 1 && are_vector_products(alone)) return vectors_kernel(request, alone, plan.batch[0]);
  }
  const std::vector<ProductRun> runs = runs_of(plan);
  std::size_t scratch = 0;
  for (const ProductRun& run : runs) scratch = std::max(scratch, cuda::copies_bytes(run.product, precision));
  return {[plan, precision, runs](const KernelContext& c) {
            for (const ProductRun& run : runs) {
              const ProductOffsets& at = plan.batch[static_cast<std::size_t>(run.first)];
              multiply_rows(c.stream, run.product, precision, c.inputs[0].as<const T>() + at.a,
                            c.inputs[1].as<const T>() + at.b, c.outputs[0].as<T>() + run.first * run.product.c_step,
                            c.workspace);
            }
          },
          scratch};
}

Kernel bind_plan(const KernelRequest& request, const ProductPlan& plan) {
  return with_float(request.outputs.at(0).dtype, [&](auto zero) { return plan_kernel<decltype(zero)>(request, plan); });
}
REGISTER_KERNEL("matmul", kCuda, [](const KernelRequest& given) {
  const KernelRequest request = in_own_precision(given);
  const ProductPlan plan = plan_matmul(request);
  Kernel kernel = bind_plan(request, plan);
  if (!plan.one_factor) return kernel;
  const ProductGroup group{ProductGroup::Kind::kMany, {plan.product}};
  take_part(kernel, request, group);
  run_few_rows(kernel, request, group);
  return kernel;
});
REGISTER_KERNEL("matmul_reduce", kCuda, [](const KernelRequest& request) {
  return bind_plan(in_own_precision(request), {plan_matmul_reduce(request), {{0, 0}}, false});
});

// How a group's products use scratch space. A sum's products follow each other, and use the same. Others run at the same time:
// each copies its second factor to a place of its own; a first factor that all of them share is copied once.
struct GroupScratch {
  std::vector<std::size_t> at;  // by product
  std::size_t bytes = 0;
  bool shares_a = false;  // the copy is at the beginning

  GroupScratch(const ProductGroup& group, ProductPrecision precision) {
    const bool sums = group.kind == ProductGroup::Kind::kSum;
    const RowMajorProduct first = row_major(group.products[0]);
    // Those of kMany have one first factor, and one size.
    shares_a = !sums && group.products.size() > 1 && cuda::multiplies_copies(first, precision);
    if (shares_a) bytes = cuda::copy_of_a(first).bytes();
    for (const MatrixProduct& product : group.products) {
      const RowMajorProduct p = row_major(product);
      const std::size_t own = shares_a ? cuda::copy_of_b(p).bytes() : cuda::copies_bytes(p, precision);
      at.push_back(sums ? 0 : bytes);
      bytes = sums ? std::max(bytes, own) : bytes + own;
    }
  }
};

// The products of a group; a(i), b(i) and y(i) return the operands of product i.
template <class T, class A, class B, class Y>
void multiply_group(void* stream, const ProductGroup& group, ProductPrecision precision, const GroupScratch& scratch,
                    void* memory, const A& a, const B& b, const Y& y) {
  const auto place = [&](std::size_t i) { return static_cast<char*>(memory) + scratch.at[i]; };
  if (group.kind == ProductGroup::Kind::kSum) {
    for (std::size_t i = 0; i < group.products.size(); ++i)
      multiply_rows<T>(stream, row_major(group.products[i]), precision, a(i), b(i), y(i), place(i));
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (scratch.shares_a && cuda::has_matrix_units_on(stream)) {
      cuda::round_factor(stream, cuda::copy_of_a(row_major(group.products[0])), a(0), memory);
      return cuda::side_by_side(stream, group.products.size(), [&](std::size_t i, void* own) {
        cuda::multiply_copies(own, row_major(group.products[i]), memory, b(i), place(i), y(i));
      });
    }
  }
  cuda::side_by_side(stream, group.products.size(), [&](std::size_t i, void* own) {
    const RowMajorProduct p = row_major(group.products[i]);
    if (scratch.shares_a) return multiply_as_they_are<T>(own, p, precision, a(i), b(i), y(i));
    multiply_rows<T>(own, p, precision, a(i), b(i), y(i), place(i));
  });
}

template <class T>
Kernel group_kernel(const KernelRequest& request, const ProductGroup& group) {
  if constexpr (std::is_same_v<T, float>) {
    if (are_vector_products(group)) return vectors_kernel(request, group);
  }
  const ProductPrecision precision = request.products;
  const GroupScratch scratch(group, precision);
  return {[group, precision, scratch](const KernelContext& c) {
            multiply_group<T>(
                c.stream, group, precision, scratch, c.workspace,
                [&](std::size_t i) { return c.inputs[group.a(i)].as<const T>(); },
                [&](std::size_t i) { return c.inputs[group.b(i)].as<const T>(); },
                [&](std::size_t i) { return c.outputs[group.y(i)].as<T>(); });
          },
          scratch.bytes};
}

Kernel bind_group(const KernelRequest& given, const ProductGroup& group) {
  const KernelRequest request = in_own_precision(given);
  Kernel kernel =
      with_float(request.outputs.at(0).dtype, [&](auto zero) { return group_kernel<decltype(zero)>(request, group); });
  take_part(kernel, request, group);
  run_few_rows(kernel, request, group);
  return kernel;
}
REGISTER_KERNEL("matmul_many", kCuda, [](const KernelRequest& r) { return bind_group(r, plan_matmul_many(r)); });
REGISTER_KERNEL("matmul_reduce_many", kCuda, [](const KernelRequest& r) { return bind_group(r, plan_matmul_reduce_many(r)); });
REGISTER_KERNEL("matmul_sum", kCuda, [](const KernelRequest& r) { return bind_group(r, plan_matmul_sum(r)); });

// Few rows are read where they are in the table.
Kernel gather_vectors_kernel(const KernelRequest& request, const ProductGroup& group, std::int64_t table_rows) {
  const int parts = vector_parts(group, request.device);
  return {[group, table_rows, parts, precision = request.products](const KernelContext& c) {
    if (table_rows == 0) return cuda::check_device_indices(c, c.inputs[1], table_rows);  // there is nothing to index
    VectorProducts products = vector_products(
        group, parts, [&](std::size_t) { return c.inputs[0].as<const float>(); },
        [&](std::size_t i) { return c.inputs[i + kGatherMatmulMatrix].as<const float>(); },
        [&](std::size_t i) { return c.outputs[i].as<float>(); });
    products.indices = cuda::checked_indices(c, c.inputs[1]), products.table_rows = table_rows;
    products.keep = c.inputs[2].as<const std::uint8_t>();
    multiply_vectors(c.stream, products, precision);
  }};
}

// Nothing is kept from run to run: the rows are gathered, then multiplied.
template <class T>
Kernel gather_products_kernel(const ProductGroup& group, std::int64_t table_rows, const TensorView& rows_of_batch,
                              ProductPrecision precision) {
  const std::int64_t count = rows_of_batch.count();
  const auto gathered = static_cast<std::size_t>(round_up(static_cast<std::int64_t>(rows_of_batch.bytes()), kAlignment));
  const GroupScratch scratch(group, precision);
  return {[group, table_rows, count, gathered, scratch, precision](const KernelContext& c) {
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
            multiply_group<T>(
                c.stream, group, precision, scratch, static_cast<char*>(c.workspace) + gathered,
                [&](std::size_t) { return static_cast<const T*>(rows); },
                [&](std::size_t i) { return c.inputs[i + kGatherMatmulMatrix].as<const T>(); },
                [&](std::size_t i) { return c.outputs[i].as<T>(); });
          },
          gathered + scratch.bytes};
}
REGISTER_KERNEL("gather_matmul", kCuda, [](const KernelRequest& given) {
  const KernelRequest request = in_own_precision(given), products = product_request(request);
  const ProductGroup group = plan_gather_matmul(products, request.attributes->boolean("transpose_b"));
  const std::int64_t table_rows = request.inputs[0].sizes[0];
  Kernel kernel = with_float(request.outputs.at(0).dtype, [&](auto zero) {
    using T = decltype(zero);
    if (std::is_same_v<T, float> && are_vector_products(group)) return gather_vectors_kernel(request, group, table_rows);
    return gather_products_kernel<T>(group, table_rows, products.inputs[0], request.products);
  });
  kernel.refuse = cuda::refusal(request.inputs[1], table_rows, "gather: index");
  return kernel;
});

}  // namespace
}  // namespace graphrun
