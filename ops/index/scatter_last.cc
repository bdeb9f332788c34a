// scatter_last writes elements into rows: the gradient of pick and topk. It is not a move (ops/index/moves.h), since each
// element of the result would have to search the indices.
#include <algorithm>
#include <cstdint>

#include "ops/dispatch.h"
#include "ops/indices.h"
#include "ops/over_sequence.h"
#include "ops/parallel.h"
#include "ops/rows.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

REGISTER_OP("scatter_last", "index")
    .Doc(
        "y[..., i[..., j]] = values[..., j], 0 elsewhere; the indices of a row must be distinct. The gradient of pick and\n"
        "topk.\n"
        "  i, values [..., k] -> y [..., size]")
    .Input("i", "[..., k] INT32, in [0, size)")
    .Input("values", "[..., k] FLOAT")
    .Required("size", AttributeKind::kDim, "the size of the result's last axis")
    .OverSequence(over_leading_axes())
    .Output("y")
    .Internal()
    .Shape([](ir::InferContext& c) {
      Shape out = c.input(1).shape;
      out.back() = c.attributes->dim("size");
      c.outputs = {{c.input(1).type, std::move(out)}};
    })
    .NoGradient("it is the gradient of another op, and there are no second derivatives");
REGISTER_KERNEL("scatter_last", kCpu, [](const KernelRequest& request) {
  const std::int64_t size = request.outputs[0].sizes.back(), k = request.inputs[0].sizes.back();
  const std::int64_t rows = k == 0 ? 0 : request.inputs[0].count() / k, count = request.outputs[0].count();
  return with_float(request.inputs[1].dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto put = [=](const KernelContext& c, std::int64_t begin, std::int64_t end) {
      const auto* i = c.inputs[0].as<std::int32_t>();
      const T* values = c.inputs[1].as<T>();
      T* out = c.outputs[0].as<T>();
      std::fill(out + begin * size, out + end * size, T{0});
      for (std::int64_t r = begin; r < end; ++r) {
        for (std::int64_t j = 0; j < k; ++j) out[r * size + i[r * k + j]] = values[r * k + j];
      }
    };
    Kernel kernel;
    kernel.run = [=](const KernelContext& c) {
      check_indices(c.inputs[0], size, "scatter_last: index");
      if (rows == 0) std::fill_n(c.outputs[0].as<T>(), count, T{0});
      parallel_for(rows, count, [&](std::int64_t begin, std::int64_t end) { put(c, begin, end); });
    };
    // All leading axes together are rows; kernels divide them along the first axis, unless there is only one row.
    const Sizes& sizes = request.outputs[0].sizes;
    if (sizes.empty() || rows == 0 || rows % sizes[0] != 0) return kernel;
    const std::int64_t each = rows / sizes[0];
    kernel.by_rows = row_kernel(request, {false, false}, [=](const KernelContext& c, std::int64_t begin, std::int64_t end) {
      check_indices(c.inputs[0], begin * each * k, end * each * k, size, "scatter_last: index");
      put(c, begin * each, end * each);
    });
    return kernel;
  });
});

}  // namespace
}  // namespace graphrun
