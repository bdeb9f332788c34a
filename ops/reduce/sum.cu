// sum, mean and sum_to on CUDA.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/generated/loop_part.h"
#include "ops/reduce/columns_device.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/sum_steps.h"

namespace graphrun {
namespace {

using cuda::Column;

// In: the element type; Sum: the accumulator, 64-bit for integers; Out: the result's type.
template <class In, class Sum, class Out, bool mean>
struct SumFold {
  using Value = Sum;
  const In* x;
  Out* out;
  GRAPHRUN_DEVICE Sum start() const { return Sum(0); }
  GRAPHRUN_DEVICE Sum take(Sum sum, std::int64_t at, std::int64_t) const { return sum + static_cast<Sum>(x[at]); }
  GRAPHRUN_DEVICE Sum join(Sum a, Sum b) const { return a + b; }
  GRAPHRUN_DEVICE void write(const Column& c, Sum total) const {
    if constexpr (!mean) {
      out[c.result] = static_cast<Out>(total);
    } else if constexpr (std::is_floating_point_v<Sum>) {
      out[c.result] = c.n > 1 ? total / static_cast<Sum>(c.n) : total;
    } else {
      out[c.result] = static_cast<Out>(static_cast<double>(total) / static_cast<double>(c.n > 0 ? c.n : 1));
    }
  }
};

template <class In, class Sum, class Out, bool mean>
Kernel sum_kernel(const AxisView& view) {
  using Fold = SumFold<In, Sum, Out, mean>;
  return {[view](const KernelContext& c) {
            cuda::launch_fold(c, view, lengths_of(c, 1, view), c.workspace, Fold{c.inputs[0].as<In>(), c.outputs[0].as<Out>()});
          },
          cuda::folds_bytes<Fold>(view)};
}

template <bool mean>
Kernel bind_sum(const KernelRequest& request) {
  const AxisView view = reduced_view(*request.attributes, request.inputs[0].sizes);
  const DType from = request.inputs[0].dtype, to = request.outputs[0].dtype;
  if (from == to && from != DType::kInt32) {
    Kernel kernel = with_float(from, [&](auto zero) {
      using T = decltype(zero);
      return sum_kernel<T, T, T, mean>(view);
    });
    take_part_of_reduction(kernel, request, view, mean ? ir::FoldKind::kMean : ir::FoldKind::kSum);
    return kernel;
  }
  return with_any(from, [&](auto in) {
    return with_number(to, [&](auto out) { return sum_kernel<decltype(in), std::int64_t, decltype(out), mean>(view); });
  });
}
REGISTER_KERNEL("sum", kCuda, bind_sum<false>);
REGISTER_KERNEL("mean", kCuda, bind_sum<true>);

template <class T>
void copy(const KernelContext& c, const T* x, T* out, std::int64_t count) {
  cuda::for_elements(
      c, count, GRAPHRUN_LAMBDA(std::int64_t i) { out[i] = x[i]; });
}

// One sum after the other; intermediate results are in two halves of the workspace, used alternately, before the values of
// parts of columns.
template <class T>
Kernel sum_to_kernel(const std::vector<AxisView>& steps) {
  using Fold = SumFold<T, T, T, false>;
  const std::size_t half = steps.size() < 2 ? 0 : static_cast<std::size_t>(steps.front().results()) * sizeof(T);
  const std::size_t aligned = (half + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t between = steps.size() < 2 ? 0 : steps.size() == 2 ? aligned : 2 * aligned;
  std::size_t parts = 0;
  for (const AxisView& step : steps) parts = std::max(parts, cuda::folds_bytes<Fold>(step));
  Kernel kernel;
  kernel.workspace = between + parts;
  kernel.run = [steps, aligned, between](const KernelContext& c) {
    const T* x = c.inputs[0].as<T>();
    T* out = c.outputs[0].as<T>();
    if (steps.empty()) return copy(c, x, out, c.outputs[0].count());
    auto* const workspace = static_cast<char*>(c.workspace);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      T* to = i + 1 == steps.size() ? out : reinterpret_cast<T*>(workspace + i % 2 * aligned);
      cuda::launch_fold(c, steps[i], {nullptr, 1, steps[i].n}, workspace + between, Fold{x, to});
      x = to;
    }
  };
  return kernel;
}
REGISTER_KERNEL("sum_to", kCuda, [](const KernelRequest& request) {
  const std::vector<AxisView> steps = steps_to(request.inputs[0].sizes, request.outputs[0].sizes);
  return with_float(request.inputs[0].dtype, [&](auto zero) { return sum_to_kernel<decltype(zero)>(steps); });
});

}  // namespace
}  // namespace graphrun
