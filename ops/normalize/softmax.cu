// softmax, log_softmax, their gradients and logsumexp on CUDA.
#include "compiler/ir/op.h"
#include "ops/dispatch.h"
#include "ops/generated/device_functions.h"
#include "ops/generated/loop_part.h"
#include "ops/reduce/columns_device.h"
#include "ops/reduce/reduction.h"

namespace graphrun {
namespace {

using cuda::Column;

// The value subtracted from a column's exponents, and the sum of the exponentials.
template <class T>
struct Exponentials {
  T shift, total;
};
template <class T>
GRAPHRUN_DEVICE Exponentials<T> exponentials_of(const Column& c, const T* x) {
  const auto larger = [](T a, T b) { return cuda::larger(a, b); };
  const T most = c.fold(
      cuda::lowest<T>(), [x](T so_far, std::int64_t at, std::int64_t) { return cuda::larger(so_far, x[at]); }, larger);
  const T shift = cuda::finite_or_zero(most);
  const T total = c.fold(
      T(0), [x, shift](T sum, std::int64_t at, std::int64_t) { return sum + element::exp(x[at] - shift); }, cuda::Add());
  return {shift, total};
}

template <class T>
struct LogSumExpBody {
  const T* x;
  T* out;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const Exponentials<T> e = exponentials_of(c, x);
    if (c.leads()) out[c.result] = c.n == 0 ? T(0) : e.shift + element::log(e.total);
  }
};

// x, and out, which may be x: each element is read and written by the same thread. Named like the op's operands.
template <class T>
struct SoftmaxOperands {
  const T *x, *g;
  T* out;
};

template <class T>
struct SoftmaxBody : SoftmaxOperands<T> {
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const Exponentials<T> e = exponentials_of(c, this->x);
    const T scale = e.total == T(0) ? T(0) : T(1) / e.total;
    c.each([&](std::int64_t at, std::int64_t, bool real) {
      this->out[at] = real ? element::exp(this->x[at] - e.shift) * scale : T(0);
    });
  }
};
template <class T>
struct LogSoftmaxBody : SoftmaxOperands<T> {
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const Exponentials<T> e = exponentials_of(c, this->x);
    const T log_total = e.shift + element::log(e.total);
    c.each([&](std::int64_t at, std::int64_t, bool real) { this->out[at] = real ? this->x[at] - log_total : T(0); });
  }
};
// x is the softmax: d_x = y (g - Σ g y).
template <class T>
struct SoftmaxGradientBody : SoftmaxOperands<T> {
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const T dot = c.fold(
        T(0), [this](T sum, std::int64_t at, std::int64_t) { return sum + this->x[at] * this->g[at]; }, cuda::Add());
    c.each([&](std::int64_t at, std::int64_t, bool real) { this->out[at] = real ? this->x[at] * (this->g[at] - dot) : T(0); });
  }
};
// x is the log_softmax: d_x = g - eʸ Σ g.
template <class T>
struct LogSoftmaxGradientBody : SoftmaxOperands<T> {
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const T total = c.fold(
        T(0), [this](T sum, std::int64_t at, std::int64_t) { return sum + this->g[at]; }, cuda::Add());
    c.each([&](std::int64_t at, std::int64_t, bool real) {
      this->out[at] = real ? this->g[at] - element::exp(this->x[at]) * total : T(0);
    });
  }
};

// Operands (x, lengths) or (y, lengths, g), and a result with the shape of the first.
template <template <class> class Body>
Kernel bind_along(const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  const AxisView view = view_axis(sizes, ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "softmax"));
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[view](const KernelContext& c) {
      const T* g = c.inputs.size() > 2 ? c.inputs[2].as<T>() : nullptr;
      cuda::for_columns(c, view, lengths_of(c, 1, view), sizeof(T), Body<T>{{c.inputs[0].as<T>(), g, c.outputs[0].as<T>()}});
    }};
  });
}
REGISTER_KERNEL("softmax", kCuda, bind_along<SoftmaxBody>);
REGISTER_KERNEL("log_softmax", kCuda, bind_along<LogSoftmaxBody>);
REGISTER_KERNEL("softmax_gradient", kCuda, bind_along<SoftmaxGradientBody>);
REGISTER_KERNEL("log_softmax_gradient", kCuda, bind_along<LogSoftmaxGradientBody>);

REGISTER_KERNEL("logsumexp", kCuda, [](const KernelRequest& request) {
  const AxisView view = reduced_view(*request.attributes, request.inputs[0].sizes);
  Kernel kernel = with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[view](const KernelContext& c) {
      cuda::for_columns(c, view, lengths_of(c, 1, view), sizeof(T),
                        LogSumExpBody<T>{c.inputs[0].as<T>(), c.outputs[0].as<T>()});
    }};
  });
  take_part_of_reduction(kernel, request, view, ir::FoldKind::kLogSumExp);
  return kernel;
});

}  // namespace
}  // namespace graphrun
