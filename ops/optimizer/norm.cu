// global_norm, all_finite and clip_scale on CUDA. Operands are divided into pieces, each piece yields a number, and one block
// combines the numbers: the order depends on the sizes alone.
#include "ops/dispatch.h"
#include "ops/generated/device_functions.h"
#include "ops/reduce/columns_device.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using cuda::Column;

constexpr std::int64_t kPiece = 4096;

// The number of a piece: the sum of its squares, or how many of its elements are not finite.
template <class T, bool norm>
struct PieceBody {
  const T* x;
  std::int64_t count;
  double* out;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const double total = c.fold(
        0.0,
        [this](double sum, std::int64_t at, std::int64_t) {
          if (at >= count) return sum;
          const double value = static_cast<double>(x[at]);
          return sum + (norm ? value * value : x[at] - x[at] == T(0) ? 0.0 : 1.0);
        },
        cuda::Add());
    if (c.leads()) out[c.result] = total;
  }
};

template <class Out, bool norm>
struct TotalFold {
  using Value = double;
  const double* pieces;
  Out* out;
  GRAPHRUN_DEVICE double start() const { return 0; }
  GRAPHRUN_DEVICE double take(double sum, std::int64_t at, std::int64_t) const { return sum + pieces[at]; }
  GRAPHRUN_DEVICE double join(double a, double b) const { return a + b; }
  GRAPHRUN_DEVICE void write(const Column&, double total) const {
    *out = static_cast<Out>(norm ? element::sqrt(total) : total == 0 ? 1.0 : 0.0);
  }
};

template <class T, class Out, bool norm>
Kernel pieces_kernel(const KernelRequest& request) {
  std::int64_t all = 0;
  for (const TensorView& x : request.inputs) all += (x.count() + kPiece - 1) / kPiece;
  return {
      [all](const KernelContext& c) {
        auto* pieces = static_cast<double*>(c.workspace);
        for (const TensorView& x : c.inputs) {
          const AxisView view{(x.count() + kPiece - 1) / kPiece, kPiece, 1};
          cuda::for_columns(c, view, {nullptr, 1, kPiece}, sizeof(double), PieceBody<T, norm>{x.as<T>(), x.count(), pieces});
          pieces += view.outer;
        }
        const double* const first = static_cast<double*>(c.workspace);
        cuda::launch_fold(c, {1, all, 1}, {nullptr, 1, all}, pieces, TotalFold<Out, norm>{first, c.outputs[0].as<Out>()});
      },
      static_cast<std::size_t>(all) * sizeof(double) + cuda::folds_bytes<TotalFold<Out, norm>>({1, all, 1})};
}
REGISTER_KERNEL("global_norm", kCuda, [](const KernelRequest& request) {
  return with_float(request.outputs.at(0).dtype, [&](auto zero) {
    using T = decltype(zero);
    return pieces_kernel<T, T, true>(request);
  });
});
REGISTER_KERNEL("all_finite", kCuda, [](const KernelRequest& request) {
  return with_float(request.inputs.at(0).dtype,
                    [&](auto zero) { return pieces_kernel<decltype(zero), std::uint8_t, false>(request); });
});

template <class T>
Kernel clip_kernel(double limit) {
  return {[limit](const KernelContext& c) {
    const T* norm = c.inputs[0].as<T>();
    T* out = c.outputs[0].as<T>();
    cuda::for_elements(
        c, 1, GRAPHRUN_LAMBDA(std::int64_t i) {
          const double factor = limit / static_cast<double>(norm[i]);
          out[i] = static_cast<T>(factor >= 1 ? 1.0 : factor);
        });
  }};
}
REGISTER_KERNEL("clip_scale", kCuda, [](const KernelRequest& request) {
  const double limit = request.attributes->number("limit");
  return with_float(request.outputs.at(0).dtype, [&](auto zero) { return clip_kernel<decltype(zero)>(limit); });
});

}  // namespace
}  // namespace graphrun
