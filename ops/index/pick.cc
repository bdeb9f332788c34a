// pick, which selects one element of each row, and scatter_last, which writes elements back into rows.
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

// A kernel over `rows` rows (all leading axes merged): `run_rows` computes some of them, `run` all.
template <class RunRows, class Run>
Kernel by_leading_rows(const KernelRequest& request, std::int64_t rows, const RunRows& run_rows, const Run& run) {
  Kernel kernel;
  kernel.run = run;
  const Sizes& sizes = request.outputs[0].sizes;
  // The rows are divided along the first axis, unless there is only one row.
  if (sizes.empty() || rows == 0 || rows % sizes[0] != 0) return kernel;
  const std::int64_t each = rows / sizes[0];
  kernel.by_rows = row_kernel(request, {false, false}, [=](const KernelContext& c, std::int64_t begin, std::int64_t end) {
    run_rows(c, begin * each, end * each);
  });
  return kernel;
}

REGISTER_OP("pick", "index")
    .Doc(
        "y[...] = x[..., i[...]]: one element of each row.\n"
        "  x [..., n], i [...] in [0, n) -> y [...]\n"
        "  let: \"score = pick(emissions, label)\"")
    .Input("x", "[..., n]")
    .Input("i", "[...] INT32: which element of each row")
    .OverSequence(over_leading_axes())
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_rank_at_least(c, 0, 1);
      ir::require_type(c, 1, Type::kInt32);
      Shape rows = c.input(0).shape;
      rows.pop_back();
      if (c.input(1).shape != rows) {
        throw ir::OpError("E0301 shape-mismatch",
                          "pick: i " + str(c.input(1).shape) + " does not fit x " + str(c.input(0).shape),
                          "help: there is one index for each row of x: " + str(rows));
      }
      c.outputs = {{c.input(0).type, std::move(rows)}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      const ir::ValueId i = c.b.op("expand", {c.x(1)}, {{"axis", std::int64_t{-1}}});
      const ir::ValueId g = c.b.op("expand", {c.g()}, {{"axis", std::int64_t{-1}}});
      c.set(0, c.b.op("scatter_last", {i, g}, {{"size", c.shape(c.x()).back()}}));
    });
REGISTER_KERNEL("pick", kCpu, [](const KernelRequest& request) {
  const std::int64_t n = request.inputs[0].sizes.back(), rows = request.outputs[0].count();
  return with_bits(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto pick = [=](const KernelContext& c, std::int64_t begin, std::int64_t end) {
      check_indices(c.inputs[1], begin, end, n, "pick: index");
      const T* x = c.inputs[0].as<T>();
      const auto* i = c.inputs[1].as<std::int32_t>();
      T* out = c.outputs[0].as<T>();
      for (std::int64_t r = begin; r < end; ++r) out[r] = x[r * n + i[r]];
    };
    return by_leading_rows(request, rows, pick, [=](const KernelContext& c) { pick(c, 0, rows); });
  });
});

REGISTER_OP("scatter_last", "index")
    .Doc(
        "y[..., i[..., j]] = values[..., j], 0 elsewhere; the indices of a row differ from each other. The gradient\n"
        "of pick and topk.\n"
        "  i, values [..., k] -> y [..., size]")
    .Input("i", "[..., k] INT32, in [0, size)")
    .Input("values", "[..., k] FLOAT")
    .Required("size", AttributeKind::kDim, "of the last axis of the result")
    .OverSequence(over_leading_axes())
    .Output("y")
    .Internal()
    .Shape([](ir::InferContext& c) {
      Shape out = c.input(1).shape;
      out.back() = c.attributes->dim("size");
      c.outputs = {{c.input(1).type, std::move(out)}};
    })
    .NoGradient("made by differentiation, which is done once");
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
    const auto put_own = [=](const KernelContext& c, std::int64_t begin, std::int64_t end) {
      check_indices(c.inputs[0], begin * k, end * k, size, "scatter_last: index");
      put(c, begin, end);
    };
    return by_leading_rows(request, rows, put_own, [=](const KernelContext& c) {
      check_indices(c.inputs[0], size, "scatter_last: index");
      if (rows == 0) std::fill_n(c.outputs[0].as<T>(), count, T{0});
      parallel_for(rows, count, [&](std::int64_t begin, std::int64_t end) { put(c, begin, end); });
    });
  });
});

REGISTER_OP("one_hot", "index")
    .Doc(
        "y[..., k] = 1 where k = i[...], 0 elsewhere, FLOAT.\n"
        "  i [...] in [0, depth) -> y [..., depth]\n"
        "  let: \"target = one_hot(label, depth=labels)\"")
    .Input("i", "[...] INT32")
    .Required("depth", AttributeKind::kDim, "the number of classes: the size of the last axis of the result")
    .OverSequence(over_leading_axes())
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_type(c, 0, Type::kInt32);
      Shape out = c.input(0).shape;
      out.push_back(c.attributes->dim("depth"));
      c.outputs = {{Type::kFloat, std::move(out)}};
    })
    .NoGradient("the operand is an integer");
REGISTER_KERNEL("one_hot", kCpu, [](const KernelRequest& request) {
  const std::int64_t depth = request.outputs[0].sizes.back(), rows = request.inputs[0].count();
  return with_float(request.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto mark = [=](const KernelContext& c, std::int64_t begin, std::int64_t end) {
      check_indices(c.inputs[0], begin, end, depth, "one_hot: index");
      const auto* i = c.inputs[0].as<std::int32_t>();
      T* out = c.outputs[0].as<T>();
      std::fill(out + begin * depth, out + end * depth, T{0});
      for (std::int64_t r = begin; r < end; ++r) out[r * depth + i[r]] = T{1};
    };
    return by_leading_rows(request, rows, mark, [=](const KernelContext& c) {
      check_indices(c.inputs[0], depth, "one_hot: index");
      parallel_for(rows, rows * depth, [&](std::int64_t begin, std::int64_t end) { mark(c, begin, end); });
    });
  });
});

}  // namespace
}  // namespace graphrun
