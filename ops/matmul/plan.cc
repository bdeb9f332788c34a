#include "ops/matmul/plan.h"

namespace graphrun {
namespace {

// For each product of the batch, the offset of a factor whose leading sizes are `own`, which broadcast to `all`.
std::vector<std::int64_t> batch_offsets(const Sizes& all, const Sizes& own, std::int64_t matrix) {
  const std::int64_t count = element_count(all);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, index = 0, step = 1;
    for (std::size_t k = 0; k < own.size(); ++k) {
      const std::int64_t size = all[all.size() - 1 - k], mine = own[own.size() - 1 - k];
      index += mine == 1 ? 0 : rest % size * step;
      rest /= size;
      step *= mine;
    }
    offsets[static_cast<std::size_t>(i)] = index * matrix;
  }
  return offsets;
}

// The product of the rows of `a` with a matrix.
MatrixProduct product_of_rows(const TensorView& a, const TensorView& y, bool transpose_b) {
  MatrixProduct p;
  p.transpose_b = transpose_b;
  p.n = y.sizes.back(), p.k = a.sizes.back(), p.m = 1;
  for (std::size_t i = 0; i + 1 < y.sizes.size(); ++i) p.m *= y.sizes[i];
  return p;
}

// The product aᵀ b of two stacks of rows.
MatrixProduct product_of_stacks(const TensorView& a, const TensorView& b) {
  MatrixProduct p;
  p.transpose_a = true;
  p.m = a.sizes.back(), p.n = b.sizes.back(), p.k = 1;
  for (std::size_t i = 0; i + 1 < a.sizes.size(); ++i) p.k *= a.sizes[i];
  return p;
}

}  // namespace

ProductPlan plan_matmul(const KernelRequest& request) {
  Sizes a = request.inputs.at(0).sizes, b = request.inputs.at(1).sizes, y = request.outputs.at(0).sizes;
  MatrixProduct p;
  p.transpose_a = request.attributes->boolean("transpose_a");
  p.transpose_b = request.attributes->boolean("transpose_b");
  const bool a_is_vector = a.size() == 1, b_is_vector = b.size() == 1;
  if (a_is_vector) a.insert(a.begin(), 1), y.insert(y.end() - (b_is_vector ? 0 : 1), 1);
  if (b_is_vector) b.push_back(1), y.push_back(1);
  p.m = y[y.size() - 2], p.n = y.back(), p.k = a[a.size() - (p.transpose_a ? 2 : 1)];

  const Sizes batch(y.begin(), y.end() - 2), a_lead(a.begin(), a.end() - 2), b_lead(b.begin(), b.end() - 2);
  const std::int64_t products = element_count(batch);
  // One right factor for the whole batch: the rows of all matrices are contiguous, so a single product covers them.
  if (!p.transpose_a && element_count(b_lead) == 1 && element_count(a_lead) == products) {
    p.m *= products;
    return {p, {{0, 0}}, true};
  }
  const std::vector<std::int64_t> a_at = batch_offsets(batch, a_lead, p.m * p.k),
                                  b_at = batch_offsets(batch, b_lead, p.k * p.n);
  ProductPlan plan{p, {}, false};
  for (std::size_t i = 0; i < a_at.size(); ++i) plan.batch.push_back({a_at[i], b_at[i]});
  return plan;
}

MatrixProduct plan_matmul_reduce(const KernelRequest& request) {
  return product_of_stacks(request.inputs.at(0), request.inputs.at(1));
}

ProductGroup plan_matmul_many(const KernelRequest& request) {
  const MatrixProduct p =
      product_of_rows(request.inputs.at(0), request.outputs.at(0), request.attributes->boolean("transpose_b"));
  return {ProductGroup::Kind::kMany, std::vector<MatrixProduct>(request.outputs.size(), p)};
}

ProductGroup plan_matmul_reduce_many(const KernelRequest& request) {
  const MatrixProduct p = product_of_stacks(request.inputs.at(0), request.inputs.at(1));
  return {ProductGroup::Kind::kMany, std::vector<MatrixProduct>(request.outputs.size(), p)};
}

ProductGroup plan_matmul_sum(const KernelRequest& request) {
  ProductGroup group{ProductGroup::Kind::kSum, {}};
  for (std::size_t i = 0; i < request.inputs.size(); i += 2) {
    const bool transpose_b = request.attributes->boolean("transpose_b");
    group.products.push_back(product_of_rows(request.inputs[i], request.outputs.at(0), transpose_b));
    group.products.back().accumulate = i > 0;
  }
  return group;
}

}  // namespace graphrun
