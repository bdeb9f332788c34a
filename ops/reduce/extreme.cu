// max, min, their gradients, argmax and argmin on CUDA.
#include "compiler/ir/op.h"
#include "ops/dispatch.h"
#include "ops/generated/loop_part.h"
#include "ops/reduce/columns_device.h"
#include "ops/reduce/reduction.h"

namespace graphrun {
namespace {

using cuda::Best;
using cuda::better;
using cuda::Column;

template <bool kMax, class T>
struct BestFold {
  using Value = Best<T>;
  const T* x;
  GRAPHRUN_DEVICE Best<T> start() const { return {T(0), -1}; }
  GRAPHRUN_DEVICE Best<T> take(Best<T> best, std::int64_t at, std::int64_t position) const {
    return better<kMax>(best, Best<T>{x[at], position});
  }
  GRAPHRUN_DEVICE Best<T> join(Best<T> a, Best<T> b) const { return better<kMax>(a, b); }
};
template <bool kMax, class T>
struct ExtremeFold : BestFold<kMax, T> {
  T* out;
  GRAPHRUN_DEVICE void write(const Column& c, Best<T> best) const { out[c.result] = best.value; }
};
template <bool kMax, class T>
struct PositionFold : BestFold<kMax, T> {
  std::int32_t* out;
  GRAPHRUN_DEVICE void write(const Column& c, Best<T> best) const {
    out[c.result] = best.position < 0 ? 0 : static_cast<std::int32_t>(best.position);
  }
};
template <bool kMax, class T>
struct ExtremeGradientBody {
  const T *x, *g;
  T* out;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const BestFold<kMax, T> fold{x};
    const Best<T> best = c.fold(
        fold.start(), [&](Best<T> so_far, std::int64_t at, std::int64_t a) { return fold.take(so_far, at, a); },
        [&](Best<T> one, Best<T> other) { return fold.join(one, other); });
    c.each([&](std::int64_t at, std::int64_t a, bool) { out[at] = a == best.position ? g[c.result] : T(0); });
  }
};

template <bool kMax>
Kernel bind_extreme(const KernelRequest& request) {
  const AxisView view = reduced_view(*request.attributes, request.inputs[0].sizes);
  Kernel kernel = with_number(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    using Fold = ExtremeFold<kMax, T>;
    return Kernel{
        [view](const KernelContext& c) {
          cuda::launch_fold(c, view, lengths_of(c, 1, view), c.workspace, Fold{{c.inputs[0].as<T>()}, c.outputs[0].as<T>()});
        },
        cuda::folds_bytes<Fold>(view)};
  });
  take_part_of_reduction(kernel, request, view, kMax ? ir::FoldKind::kMax : ir::FoldKind::kMin);
  return kernel;
}

template <bool kMax>
Kernel bind_position(const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  const AxisView view = view_axis(sizes, ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "argmax"));
  Kernel kernel = with_number(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    using Fold = PositionFold<kMax, T>;
    return Kernel{[view](const KernelContext& c) {
                    cuda::launch_fold(c, view, lengths_of(c, 1, view), c.workspace,
                                      Fold{{c.inputs[0].as<T>()}, c.outputs[0].as<std::int32_t>()});
                  },
                  cuda::folds_bytes<Fold>(view)};
  });
  take_part_of_reduction(kernel, request, view, kMax ? ir::FoldKind::kArgMax : ir::FoldKind::kArgMin);
  return kernel;
}

// Inputs x, lengths, g.
template <bool kMax>
Kernel bind_gradient(const KernelRequest& request) {
  const AxisView view = reduced_view(*request.attributes, request.inputs[0].sizes);
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[view](const KernelContext& c) {
      cuda::for_columns(c, view, lengths_of(c, 1, view), sizeof(Best<T>),
                        ExtremeGradientBody<kMax, T>{c.inputs[0].as<T>(), c.inputs[2].as<T>(), c.outputs[0].as<T>()});
    }};
  });
}

REGISTER_KERNEL("max", kCuda, bind_extreme<true>);
REGISTER_KERNEL("min", kCuda, bind_extreme<false>);
REGISTER_KERNEL("argmax", kCuda, bind_position<true>);
REGISTER_KERNEL("argmin", kCuda, bind_position<false>);
REGISTER_KERNEL("max_gradient", kCuda, bind_gradient<true>);
REGISTER_KERNEL("min_gradient", kCuda, bind_gradient<false>);

}  // namespace
}  // namespace graphrun
