// sum and mean.
#include <cstdint>

#include "ops/dispatch.h"
#include "ops/parallel.h"
#include "ops/reduce/fold_simd.h"
#include "ops/reduce/reduction.h"

namespace graphrun {
namespace {

// Sums INT32 and BOOL elements exactly, in 64 bits, as the language requires. Out is std::int32_t or a float type.
template <class In, class Out>
void sum_integers(const In* x, Out* out, const AxisView& view, const Lengths& lengths, bool mean) {
  parallel_for(view.results(), view.count(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const In* column = x + r / view.inner * view.n * view.inner + r % view.inner;
      const std::int64_t n = lengths.at(r);
      std::int64_t total = 0;
      for (std::int64_t a = 0; a < n; ++a) total += column[a * view.inner];
      out[r] =
          mean ? static_cast<Out>(static_cast<double>(total) / static_cast<double>(n > 0 ? n : 1)) : static_cast<Out>(total);
    }
  });
}

template <class T>
void mean_floats(const T* x, T* out, const AxisView& view, bool one_column, const Lengths& lengths) {
  ReduceTask<T> task;
  task.x = x, task.out = out, task.view = view, task.lengths = lengths, task.one_column = one_column;
  run_units(task, [](const ReduceTask<T>& part) { sum_along(part); });
  for (std::int64_t r = 0; r < view.results(); ++r) {
    if (const std::int64_t n = lengths.at(r); n > 1) out[r] /= static_cast<T>(n);
  }
}

Kernel bind_sum(const KernelRequest& request, bool mean) {
  const AxisView view = reduced_view(*request.attributes, request.inputs[0].sizes);
  const DType from = request.inputs[0].dtype, to = request.outputs[0].dtype;
  if (from == to && from != DType::kInt32) {
    return with_float(from, [&](auto zero) {
      using T = decltype(zero);
      if (!mean) {
        return reduction_kernel<T>(
            request, view, [](const KernelContext& c, ReduceTask<T>& task) { task.out = c.outputs[0].as<T>(); },
            [](const ReduceTask<T>& part) { sum_along(part); });
      }
      return Kernel{[view, one = is_one_column(request, view)](const KernelContext& c) {
        mean_floats(c.inputs[0].as<T>(), c.outputs[0].as<T>(), view, one, lengths_of(c, 1, view));
      }};
    });
  }
  return with_any(from, [&](auto in) {
    return with_number(to, [&](auto out) {
      using In = decltype(in);
      using Out = decltype(out);
      return Kernel{[view, mean](const KernelContext& c) {
        sum_integers(c.inputs[0].as<In>(), c.outputs[0].as<Out>(), view, lengths_of(c, 1, view), mean);
      }};
    });
  });
}

// The number of positions that each element of the result sums, as a value that broadcasts with the result.
ir::ValueId counted(ir::GradientContext& c) {
  const Shape x = c.shape(c.x());
  const AxisRange axes = reduced_axes(c.op, c.attributes, x.size());
  Dim size = 1;
  for (int a = axes.first; a < axes.last; ++a) size = size * x[static_cast<std::size_t>(a)];
  if (c.inputs.size() < 2 || c.x(1) == ir::kNone) return c.b.cast(c.b.dim(size), Type::kFloat);
  ir::ValueId n = c.b.op("minimum", {c.x(1), c.b.dim(size)});
  n = c.b.cast(c.b.op("maximum", {n, c.b.constant(1, Type::kInt32)}), Type::kFloat);
  // Insert axes of size 1 where the result has axes that lengths does not have.
  const std::size_t rank = c.shape(c.y()).size();
  if (c.attributes.boolean("keep") && c.shape(n).size() >= static_cast<std::size_t>(axes.first)) {
    n = c.b.op("expand", {n}, {{"axis", static_cast<std::int64_t>(axes.first)}});
  }
  while (!c.shape(c.x(1)).empty() && c.shape(n).size() < rank) n = c.b.op("expand", {n}, {{"axis", std::int64_t{-1}}});
  return n;
}

const OpRegistration sum_op =
    reduction("sum",
              "y = the sum of x along axis, or over all axes. BOOL is counted, with an INT32 result. Positions at or beyond\n"
              "`lengths` do not count; without positions, y is 0.\n"
              "  x [..., n, ...] -> y [..., ...]\n"
              "  let: \"loss = sum(nll)\"    let: \"context = sum(expand(weights, axis=-1) * memory, axis=0)\"",
              "[...] FLOAT, INT32 or BOOL")
        .Shape([](ir::InferContext& c) { infer_reduction(c, c.input(0).type == Type::kFloat ? Type::kFloat : Type::kInt32); })
        .Gradient([](ir::GradientContext& c) {
          if (c.needs()) c.set(0, spread(c, c.g()));
        });
REGISTER_KERNEL("sum", kCpu, [](const KernelRequest& request) { return bind_sum(request, false); });

const OpRegistration mean_op =
    reduction(
        "mean",
        "y = the mean of x along axis, or over all axes; FLOAT, also for INT32 and BOOL. Positions at or beyond `lengths` do\n"
        "not count; without positions, y is 0.\n"
        "  x [..., n, ...] -> y [..., ...]\n"
        "  let: \"summary = mean(annotations, axis=0, lengths=lengths)\"",
        "[...] FLOAT, INT32 or BOOL")
        .Shape([](ir::InferContext& c) { infer_reduction(c, Type::kFloat); })
        .Gradient([](ir::GradientContext& c) {
          if (c.needs()) c.set(0, spread(c, c.b.op("div", {c.g(), counted(c)})));
        });
REGISTER_KERNEL("mean", kCpu, [](const KernelRequest& request) { return bind_sum(request, true); });

}  // namespace
}  // namespace graphrun
