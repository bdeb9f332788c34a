// Matrix products as ops: matmul, and matmul_reduce, the product that computes a shared factor's gradient.
#include <algorithm>
#include <memory>
#include <utility>

#include "compiler/ir/sequence.h"
#include "ops/matmul/group.h"
#include "ops/matmul/packed.h"
#include "ops/matmul/plan.h"
#include "ops/matmul/precision.h"
#include "ops/matmul/product.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using ir::GradientContext;
using ir::InferContext;
using ir::ValueId;

// Products of one size over a batch. A factor that the whole batch shares has the same offset in each.
struct BatchedProduct {
  BatchedProduct(const MatrixProduct& p, std::vector<ProductOffsets> offsets, DType dtype)
      : product(p),
        grid(p, static_cast<std::int64_t>(offsets.size())),
        batch(std::move(offsets)),
        runner(grid.blocks() * static_cast<std::int64_t>(batch.size()), scratch_of_block(p, dtype)) {}

  template <class T>
  void run(const KernelContext& context) const {
    if (product.m == 0 || product.n == 0) return;
    const T *const a = context.inputs[0].as<const T>(), *const b = context.inputs[1].as<const T>();
    T* const c = context.outputs[0].as<T>();
    const std::int64_t blocks = grid.blocks();
    runner.run(context.workspace, product.operations() / static_cast<double>(blocks), [&](std::int64_t i, void* scratch) {
      const std::int64_t which = i / blocks;
      const ProductOffsets& at = batch[static_cast<std::size_t>(which)];
      const ProductBlock block = grid.block(product, i % blocks);
      if (block.rows == 0 || block.columns == 0) return;
      multiply(product, block, a + at.a, b + at.b, c + which * product.m * product.n, scratch);
    });
  }

  MatrixProduct product;
  ProductGrid grid;
  std::vector<ProductOffsets> batch;
  BlockRunner runner;
};

Kernel kernel_of(DType dtype, const MatrixProduct& product, std::vector<ProductOffsets> batch) {
  GRAPHRUN_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64,
                 "matmul has no kernel for " + std::string(name_of(dtype)));
  const auto plan = std::make_shared<const BatchedProduct>(product, std::move(batch), dtype);
  return {[plan, dtype](const KernelContext& c) { dtype == DType::kFloat32 ? plan->run<float>(c) : plan->run<double>(c); },
          plan->runner.workspace()};
}

Kernel bind_matmul(const KernelRequest& given) {
  const KernelRequest request = in_own_precision(given);
  ProductPlan plan = plan_matmul(request);
  const std::size_t rank_a = request.inputs[0].sizes.size(), rank_b = request.inputs[1].sizes.size();
  if ((rank_a == 2 && rank_b == 2) || (plan.one_factor && rank_b > 1)) {
    KernelRequest as_group = request;
    if (rank_b > 2) {  // like the products of a larger batch
      as_group.products = ProductPrecision::kFloat32;
      as_group.weights = WeightForm::kFloat32;
    }
    return group_kernel(as_group, {ProductGroup::Kind::kMany, {plan.product}});
  }
  return kernel_of(request.outputs[0].dtype, plan.product, std::move(plan.batch));
}

Kernel bind_matmul_reduce(const KernelRequest& request) {
  return group_kernel(in_own_precision(request), {ProductGroup::Kind::kMany, {plan_matmul_reduce(request)}});
}

std::string both(const InferContext& c) { return c.input(0).str() + " and " + c.input(1).str(); }

void infer_matmul(InferContext& c) {
  check_precision(c);
  require_type(c, 0, Type::kFloat);
  require_type(c, 1, Type::kFloat);
  require_rank_at_least(c, 0, 1);
  require_rank_at_least(c, 1, 1);
  Shape a = c.input(0).shape, b = c.input(1).shape;
  const bool a_is_vector = a.size() == 1, b_is_vector = b.size() == 1;
  const bool transpose_a = c.attributes->boolean("transpose_a"), transpose_b = c.attributes->boolean("transpose_b");
  if ((a_is_vector && transpose_a) || (b_is_vector && transpose_b)) {
    throw ir::OpError("E0304 wrong-rank", "matmul: a vector can't be transposed, found " + both(c),
                      "help: leave the attribute out");
  }
  if (a_is_vector) a.insert(a.begin(), 1);
  if (b_is_vector) b.push_back(1);
  Dim n = a[a.size() - 2], k = a.back(), k_b = b[b.size() - 2], m = b.back();
  if (transpose_a) std::swap(n, k);
  if (transpose_b) std::swap(k_b, m);
  if (k != k_b) {
    throw ir::OpError("E0301 shape-mismatch",
                      "matmul: " + both(c) + " do not fit: the summed sizes are " + k.str() + " and " + k_b.str(),
                      "help: a [..., n, k] @ b [k, m]: the last size of a must be the last but one of b");
  }
  const std::optional<Shape> lead = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!lead) {
    throw ir::OpError("E0301 shape-mismatch", "matmul: the leading sizes of " + both(c) + " do not fit",
                      "help: the sizes before the matrices' broadcast; only a literal 1 does, never a symbol");
  }
  Shape y = *lead;
  if (!a_is_vector) y.push_back(n);
  if (!b_is_vector) y.push_back(m);
  c.outputs = {{Type::kFloat, std::move(y)}};
}

// The gradients are products too, with transposes expressed by the flags:
//   y = a b:   da = g bᵀ, db = aᵀ g      y = a bᵀ:   da = g b,   db = gᵀ a
//   y = aᵀ b:  da = b gᵀ, db = a g       y = aᵀ bᵀ:  da = bᵀ gᵀ, db = gᵀ aᵀ
// A vector counts as a matrix with one row (a) or one column (b). They have the precision of the product.
void matmul_gradient(GradientContext& c) {
  ir::Builder& builder = c.b;
  const bool a_is_vector = c.shape(c.x(0)).size() == 1, b_is_vector = c.shape(c.x(1)).size() == 1;
  const bool ta = c.attributes.boolean("transpose_a"), tb = c.attributes.boolean("transpose_b");
  const std::string precision = c.attributes.string("precision");
  const auto expand = [&](ValueId v, std::int64_t axis) { return builder.op("expand", {v}, {{"axis", axis}}); };
  const auto product = [&](ValueId l, ValueId r, bool tl, bool tr) {
    return builder.op("matmul", {l, r}, {{"transpose_a", tl}, {"transpose_b", tr}, {"precision", precision}});
  };
  const auto reduced = [&](ValueId l, ValueId r) { return builder.op("matmul_reduce", {l, r}, {{"precision", precision}}); };
  const ValueId a = a_is_vector ? expand(c.x(0), 0) : c.x(0), b = b_is_vector ? expand(c.x(1), -1) : c.x(1);
  ValueId g = c.g();
  if (b_is_vector) g = expand(g, -1);
  if (a_is_vector) g = expand(g, -2);
  const auto set = [&](std::size_t i, ValueId gradient, ValueId matrix) {
    gradient = builder.sum_to(gradient, c.shape(matrix));
    if (c.shape(matrix) != c.shape(c.x(i))) gradient = builder.op("reshape", {gradient}, {{"shape", c.shape(c.x(i))}});
    c.set(i, gradient);
  };
  if (c.needs(0)) set(0, ta ? product(b, g, tb, true) : product(g, b, false, !tb), a);
  if (!c.needs(1)) return;
  if (!ta && c.shape(b).size() == 2) {  // one factor for all rows of a: a single product covers them
    set(1, tb ? reduced(g, a) : reduced(a, g), b);
  } else {
    set(1, tb ? product(g, a, true, ta) : product(a, g, !ta, false), b);
  }
}

// A factor that is the same at every step is shared by all steps: if it is one matrix, all steps become a single product.
std::vector<ValueId> matmul_over_sequence(ir::SequenceContext& c) {
  const bool a_is_vector = c.rank(0) == 1, b_is_vector = c.rank(1) == 1;
  if (c.is_sequence(0) && !c.is_sequence(1) && (!a_is_vector || c.rank(1) <= 2)) {
    // A sequence of vectors is already a matrix; leading axes of b must line up with those of a.
    return c.again({c.rank(1) > 2 ? c.aligned(0, c.rank(1)) : c.sequence(0), c.operands[1].value});
  }
  if (a_is_vector || b_is_vector) return {};  // a sequence of vectors would be taken for a matrix
  const std::size_t rank = std::max(c.rank(0), c.rank(1));
  return c.again({c.is_sequence(0) ? c.aligned(0, rank) : c.operands[0].value, c.aligned(1, rank)});
}

REGISTER_OP("matmul", "matmul")
    .Doc(
        "y[..., i, j] = Σₖ a[..., i, k] b[..., k, j]: products of matrices, one for each index of the leading axes, which are\n"
        "equal or broadcast; b may be one matrix for all of a's. A vector is a row as a and a column as b; its axis is "
        "removed\n"
        "from the result. transpose_a and transpose_b swap the last two axes of a factor without copying it.\n"
        "  let: \"p = x @ W\"    let: \"logits = matmul(h, W, precision='FLOAT32')\"")
    .Input("a", "[..., n, k] FLOAT, or [..., k, n] with transpose_a, or [k]")
    .Input("b", "[k, m] or [..., k, m] FLOAT, or [..., m, k] with transpose_b, or [k]")
    .Bool("transpose_a", false, "use the transpose of a")
    .Bool("transpose_b", false, "use the transpose of b")
    .String("precision", "", kPrecisionDoc)
    .OverSequence(matmul_over_sequence)
    .Role(ir::Role::kMatmul)
    .Access(ir::Access::kProduct)
    .Output("y")
    .Infix("@")
    .Promote(ir::Promotion::kArithmetic)
    .Shape(infer_matmul)
    .MultiplyAdds([](const InferContext& c) {
      const Shape& a = c.input(0).shape;
      const bool transposed = c.attributes->boolean("transpose_a");
      return element_count(c.outputs[0].shape) * (transposed ? a[a.size() - 2] : a.back());
    })
    .Gradient(matmul_gradient);
REGISTER_KERNEL("matmul", kCpu, bind_matmul);

REGISTER_OP("matmul_reduce", "matmul")
    .Doc(
        "y[i, j] = Σ a[..., i] b[..., j] over all leading axes: aᵀ b of two stacks of rows as one product. The gradient of a\n"
        "matrix that multiplies every row.\n"
        "  let: \"dW = matmul_reduce(x, dy)\"")
    .Input("a", "[..., k] FLOAT")
    .Input("b", "[..., m] FLOAT, with a's leading sizes")
    .String("precision", "", kPrecisionDoc)
    .OverSequence([](ir::SequenceContext& c) -> std::vector<ValueId> {
      if (c.rank(0) != 2) return {};
      const std::string precision = c.attributes.string("precision");
      return {c.b.op("matmul", c.all_sequences(), {{"transpose_a", true}, {"precision", precision}})};
    })
    .SumsOverLeadingAxes()
    .Role(ir::Role::kMatmulReduce)
    .Access(ir::Access::kProduct)
    .Output("y")
    .Internal()
    .Shape([](InferContext& c) {
      check_precision(c);
      require_type(c, 0, Type::kFloat);
      require_type(c, 1, Type::kFloat);
      require_rank_at_least(c, 0, 2);
      require_rank_at_least(c, 1, 2);
      const Shape &a = c.input(0).shape, &b = c.input(1).shape;
      if (Shape(a.begin(), a.end() - 1) != Shape(b.begin(), b.end() - 1)) {
        throw ir::OpError("E0301 shape-mismatch", "matmul_reduce: the leading sizes of " + both(c) + " differ");
      }
      c.outputs = {{Type::kFloat, {a.back(), b.back()}}};
    })
    .MultiplyAdds([](const InferContext& c) { return element_count(c.input(0).shape) * c.input(1).shape.back(); })
    .Gradient([](GradientContext& c) {
      const std::string precision = c.attributes.string("precision");
      if (c.needs(0)) c.set(0, c.b.op("matmul", {c.x(1), c.g()}, {{"transpose_b", true}, {"precision", precision}}));
      if (c.needs(1)) c.set(1, c.b.op("matmul", {c.x(0), c.g()}, {{"precision", precision}}));
    });
REGISTER_KERNEL("matmul_reduce", kCpu, bind_matmul_reduce);

}  // namespace
}  // namespace graphrun
