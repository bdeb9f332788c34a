// topk: the largest elements of each row.
#include <cstdint>
#include <string>

#include "ops/dispatch.h"
#include "ops/index/topk_simd.h"
#include "ops/over_sequence.h"
#include "ops/parallel.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

REGISTER_OP("topk", "index")
    .Doc(
        "The k largest elements of the last axis, in descending order, and their positions. Equal elements keep their order;\n"
        "NaN comes last.\n"
        "  x [..., n] -> values [..., k], indices [..., k] INT32\n"
        "  let: \"values, indices = topk(logits, k=10)\"")
    .Input("x", "[..., n] FLOAT or INT32")
    .Required("k", AttributeKind::kInt, "how many elements; at most n")
    .OverSequence(over_leading_axes())
    .Output("values")
    .Output("indices")
    .Shape([](ir::InferContext& c) {
      ir::require_rank_at_least(c, 0, 1);
      if (c.input(0).type == Type::kBool) ir::require_type(c, 0, Type::kInt32);
      const std::int64_t k = c.attributes->integer("k");
      Shape out = c.input(0).shape;
      if (k < 1 || (out.back().is_constant() && k > out.back().constant())) {
        throw ir::OpError("E0306 wrong-attribute", "topk: k = " + std::to_string(k) + " of " + c.input(0).str(),
                          "help: 1 <= k <= " + out.back().str());
      }
      out.back() = k;
      c.outputs = {{c.input(0).type, out}, {Type::kInt32, out}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs() && c.g() != ir::kNone) {
        c.set(0, c.b.op("scatter_last", {c.y(1), c.g()}, {{"size", c.shape(c.x()).back()}}));
      }
    });
REGISTER_KERNEL("topk", kCpu, [](const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].sizes.back(), k = request.attributes->integer("k");
  const std::int64_t rows = request.outputs[0].count() / k;
  if (k > n) {
    throw UserError(ExitCode::kBadData, "E0611 slice-out-of-range",
                    "topk: k = " + std::to_string(k) + " of rows with " + std::to_string(n) + " elements");
  }
  return with_number(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[=](const KernelContext& c) {
      const T* x = c.inputs[0].as<T>();
      T* values = c.outputs[0].as<T>();
      auto* indices = c.outputs[1].as<std::int32_t>();
      parallel_for(rows, rows * n, [&](std::int64_t begin, std::int64_t end) {
        topk_rows(x + begin * n, end - begin, n, values + begin * k, indices + begin * k, k);
      });
    }};
  });
});

}  // namespace
}  // namespace graphrun
