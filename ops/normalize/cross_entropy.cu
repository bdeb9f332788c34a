// cross_entropy and its gradient on CUDA: a column is a row of logits.
#include "ops/device_indices.h"
#include "ops/dispatch.h"
#include "ops/generated/device_functions.h"
#include "ops/reduce/columns_device.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using cuda::Column;

template <class T>
struct Rows {
  const T* logits;
  cuda::CheckedIndices target;
  T smoothing;
  std::int64_t classes;

  GRAPHRUN_DEVICE std::int64_t gold(const Column& c) const { return c.exists ? target.at(c.result, classes) : 0; }
  // The term that smoothing and target subtract from the log of the sum. All threads of the block must call it.
  GRAPHRUN_DEVICE T expected_logit(const Column& c) const {
    const T* x = logits;
    const T gold_logit = c.exists ? x[c.at(gold(c))] : T(0);
    if (smoothing == T(0)) return gold_logit;
    const T sum = c.fold(
        T(0), [x](T so_far, std::int64_t at, std::int64_t) { return so_far + x[at]; }, cuda::Add());
    return (T(1) - smoothing) * gold_logit + smoothing * (sum / static_cast<T>(classes));
  }
};

template <class T>
struct CrossEntropyBody {
  Rows<T> rows;
  T* nll;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const T* x = rows.logits;
    const auto larger = [](T a, T b) { return cuda::larger(a, b); };
    const T most = c.fold(
        cuda::lowest<T>(), [x](T so_far, std::int64_t at, std::int64_t) { return cuda::larger(so_far, x[at]); }, larger);
    const T shift = cuda::finite_or_zero(most);
    const T total = c.fold(
        T(0), [x, shift](T sum, std::int64_t at, std::int64_t) { return sum + element::exp(x[at] - shift); }, cuda::Add());
    const T expected = rows.expected_logit(c);
    // Compute the difference first: it is small if the model is confident, however large the logits are.
    if (c.leads()) nll[c.result] = element::log(total) + (shift - expected);
  }
};

template <class T>
struct CrossEntropyGradientBody {
  Rows<T> rows;
  const T *nll, *g;
  T* d_logits;  // may be the logits
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const T expected = rows.expected_logit(c);
    if (c.grid.lanes > 1) cuda::barrier();  // all lanes have read the target's logit
    if (!c.exists) return;
    const T own = g[c.result];
    const T log_total = nll[c.result] + expected, each = own * rows.smoothing / static_cast<T>(rows.classes);
    const std::int64_t gold = rows.gold(c);
    c.each([&](std::int64_t at, std::int64_t a, bool) {
      const T p = element::exp(rows.logits[at] - log_total);
      const T d = own * p - each - (a == gold ? own * (T(1) - rows.smoothing) : T(0));
      d_logits[at] = own == T(0) ? T(0) : d;
    });
  }
};

struct Task {
  std::int64_t classes, rows;
  double smoothing;
  AxisView view;

  explicit Task(const KernelRequest& request)
      : classes(request.inputs[0].sizes.back()),
        rows(request.inputs[1].count()),
        smoothing(request.attributes->number("label_smoothing")),
        view{rows, classes, 1} {}
  template <class T>
  Rows<T> of(const KernelContext& c) const {
    return {c.inputs[0].as<T>(), cuda::checked_indices(c, c.inputs[1]), static_cast<T>(smoothing), classes};
  }
};

template <class T>
Kernel forward_kernel(const Task& task) {
  return {[task](const KernelContext& c) {
    if (task.classes == 0) return cuda::check_device_indices(c, c.inputs[1], 0);  // the kernel has no columns
    cuda::for_columns(c, task.view, {nullptr, 1, task.classes}, sizeof(T),
                      CrossEntropyBody<T>{task.of<T>(c), c.outputs[0].as<T>()});
  }};
}
template <class T>
Kernel gradient_kernel(const Task& task) {
  return {[task](const KernelContext& c) {
    if (task.classes == 0) return cuda::check_device_indices(c, c.inputs[1], 0);  // the kernel has no columns
    cuda::for_columns(
        c, task.view, {nullptr, 1, task.classes}, sizeof(T),
        CrossEntropyGradientBody<T>{task.of<T>(c), c.inputs[2].as<T>(), c.inputs[3].as<T>(), c.outputs[0].as<T>()});
  }};
}

Kernel bind_cross_entropy(const KernelRequest& request, bool gradient) {
  const Task task(request);
  Kernel kernel = with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return gradient ? gradient_kernel<T>(task) : forward_kernel<T>(task);
  });
  kernel.refuse = cuda::refusal(request.inputs[1], task.classes, "cross_entropy: target");
  return kernel;
}
REGISTER_KERNEL("cross_entropy", kCuda, [](const KernelRequest& request) { return bind_cross_entropy(request, false); });
REGISTER_KERNEL("cross_entropy_gradient", kCuda,
                [](const KernelRequest& request) { return bind_cross_entropy(request, true); });

}  // namespace
}  // namespace graphrun
