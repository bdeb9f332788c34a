// Products combined by the pass `merge`: matmul_many and matmul_reduce_many share a factor, matmul_sum adds its products.
#include "ops/matmul/group.h"
#include "ops/matmul/plan.h"
#include "ops/matmul/precision.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using ir::InferContext;

[[noreturn]] void refuse(const InferContext& c, const std::string& why) {
  std::string operands;
  for (const ir::TensorType* type : c.inputs) operands += (operands.empty() ? "" : ", ") + type->str();
  throw ir::OpError("E0301 shape-mismatch", c.op->name + ": " + why + ", found " + operands);
}

void check_products(const InferContext& c) {
  check_precision(c);
  for (std::size_t i = 0; i < c.inputs.size(); ++i) require_type(c, i, Type::kFloat);
}

// The shape of the product of the rows of `a` with the matrix `b`.
Shape product_shape(const InferContext& c, std::size_t a, std::size_t b, bool transpose_b) {
  const Shape &rows = c.input(a).shape, &matrix = c.input(b).shape;
  if (rows.size() < 2 || matrix.size() != 2) refuse(c, "needs rows and matrices");
  if (rows.back() != matrix[transpose_b ? 1 : 0]) refuse(c, "the summed sizes differ");
  Shape y = rows;
  y.back() = matrix[transpose_b ? 0 : 1];
  return y;
}

REGISTER_OP("matmul_many", "matmul")
    .Doc(
        "yᵢ[..., i, j] = Σₖ a[..., i, k] bᵢ[k, j]: the same rows times several matrices of one size, one result each.\n"
        "  z, r = matmul_many(h, Uz, Ur)")
    .Input("a", "[..., n, k] FLOAT")
    .VariadicInput("b", "[k, m] FLOAT each, or [m, k] with transpose_b")
    .Bool("transpose_b", false, "use the transpose of each b")
    .String("precision", "", kPrecisionDoc)
    .Access(ir::Access::kProduct)
    .Output("y")
    .Internal()
    .NoGradient("it is created after differentiation")
    .Shape([](InferContext& c) {
      check_products(c);
      for (std::size_t i = 1; i < c.inputs.size(); ++i) {
        if (c.input(i).shape != c.input(1).shape) refuse(c, "the matrices differ in size");
        c.outputs.push_back({Type::kFloat, product_shape(c, 0, i, c.attributes->boolean("transpose_b"))});
      }
    })
    .MultiplyAdds([](const InferContext& c) {
      return element_count(c.outputs[0].shape) * c.input(0).shape.back() * static_cast<std::int64_t>(c.outputs.size());
    });
REGISTER_KERNEL("matmul_many", kCpu, [](const KernelRequest& request) {
  return group_kernel(in_own_precision(request), plan_matmul_many(request));
});

REGISTER_OP("matmul_reduce_many", "matmul")
    .Doc(
        "yᵢ[j, k] = Σ a[..., j] bᵢ[..., k] over all leading axes: matmul_reduce of one stack of rows with each\n"
        "of several others of one size.\n"
        "  dWz, dWr = matmul_reduce_many(x, dz, dr)")
    .Input("a", "[..., k] FLOAT")
    .VariadicInput("b", "[..., m] FLOAT each, with a's leading sizes")
    .String("precision", "", kPrecisionDoc)
    .Access(ir::Access::kProduct)
    .Output("y")
    .Internal()
    .NoGradient("it is created after differentiation")
    .Shape([](InferContext& c) {
      check_products(c);
      const Shape &a = c.input(0).shape, &b = c.input(1).shape;
      if (a.size() < 2 || b.size() != a.size()) refuse(c, "needs stacks of rows");
      for (std::size_t i = 1; i < c.inputs.size(); ++i) {
        if (c.input(i).shape != b) refuse(c, "the right stacks differ in size");
        c.outputs.push_back({Type::kFloat, {a.back(), b.back()}});
      }
      if (Shape(a.begin(), a.end() - 1) != Shape(b.begin(), b.end() - 1)) refuse(c, "the leading sizes differ");
    })
    .MultiplyAdds([](const InferContext& c) {
      return element_count(c.input(0).shape) * c.input(1).shape.back() * static_cast<std::int64_t>(c.outputs.size());
    });
REGISTER_KERNEL("matmul_reduce_many", kCpu, [](const KernelRequest& request) {
  return group_kernel(in_own_precision(request), plan_matmul_reduce_many(request));
});

REGISTER_OP("matmul_sum", "matmul")
    .Doc(
        "y = Σᵢ aᵢ bᵢ: the sum of several products of rows with a matrix, accumulated in place.\n"
        "  dh = matmul_sum(dz, Uz, dr, Ur; transpose_b=true)")
    .VariadicInput("ab", "a₀, b₀, a₁, b₁, …: [..., n, kᵢ] and [kᵢ, m] FLOAT, or [m, kᵢ] with transpose_b")
    .Bool("transpose_b", false, "use the transpose of each b")
    .String("precision", "", kPrecisionDoc)
    .Access(ir::Access::kProduct)
    .Output("y")
    .Internal()
    .NoGradient("it is created after differentiation")
    .Shape([](InferContext& c) {
      check_products(c);
      if (c.inputs.size() % 2 != 0) refuse(c, "needs pairs of factors");
      const bool transpose_b = c.attributes->boolean("transpose_b");
      c.outputs = {{Type::kFloat, product_shape(c, 0, 1, transpose_b)}};
      for (std::size_t i = 2; i < c.inputs.size(); i += 2) {
        if (product_shape(c, i, i + 1, transpose_b) != c.outputs[0].shape) refuse(c, "the products differ in size");
      }
    })
    .MultiplyAdds([](const InferContext& c) {
      Dim summed = 0;
      for (std::size_t i = 0; i < c.inputs.size(); i += 2) summed = summed + c.input(i).shape.back();
      return element_count(c.outputs[0].shape) * summed;
    });
REGISTER_KERNEL("matmul_sum", kCpu,
                [](const KernelRequest& request) { return group_kernel(in_own_precision(request), plan_matmul_sum(request)); });

}  // namespace
}  // namespace graphrun
