// normalize, layer_norm and their gradient on CUDA: a column is a row.
#include "ops/dispatch.h"
#include "ops/generated/device_functions.h"
#include "ops/reduce/columns_device.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using cuda::Column;

template <class T>
struct NormalizeOperands {
  const T *x, *gain, *bias, *g;  // gain, bias, g: null if the op does not have them
  T* out;                        // may be x or g
  T epsilon;
};

template <class T>
struct DeviceMoments {
  T mean, scale;  // scale: 1 / sqrt(variance + epsilon)
};
template <class T>
GRAPHRUN_DEVICE DeviceMoments<T> moments_of(const Column& c, const NormalizeOperands<T>& o) {
  const T* x = o.x;
  const T n = static_cast<T>(c.view.n);
  const T mean = c.fold(
                     T(0), [x](T sum, std::int64_t at, std::int64_t) { return sum + x[at]; }, cuda::Add()) /
                 n;
  const T squares = c.fold(
      T(0), [x, mean](T sum, std::int64_t at, std::int64_t) { return sum + (x[at] - mean) * (x[at] - mean); }, cuda::Add());
  return {mean, T(1) / element::sqrt(squares / n + o.epsilon)};
}

template <class T>
struct NormalizeBody {
  NormalizeOperands<T> o;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const DeviceMoments<T> m = moments_of(c, o);
    c.each([&](std::int64_t at, std::int64_t a, bool) {
      T y = (o.x[at] - m.mean) * m.scale;
      if (o.gain != nullptr) y = y * o.gain[a];
      if (o.bias != nullptr) y = y + o.bias[a];
      o.out[at] = y;
    });
  }
};

// With h = g * gain: out = r (h - mean(h) - n mean(h n)), where n is the normalized x and r its scale.
template <class T>
struct NormalizeGradientBody {
  NormalizeOperands<T> o;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const DeviceMoments<T> m = moments_of(c, o);
    const auto gained = [&](std::int64_t at, std::int64_t a) { return o.gain == nullptr ? o.g[at] : o.g[at] * o.gain[a]; };
    const auto normal = [&](std::int64_t at) { return (o.x[at] - m.mean) * m.scale; };
    const T n = static_cast<T>(c.view.n);
    const T mean_h = c.fold(
                         T(0), [&](T sum, std::int64_t at, std::int64_t a) { return sum + gained(at, a); }, cuda::Add()) /
                     n;
    const T mean_hn =
        c.fold(
            T(0), [&](T sum, std::int64_t at, std::int64_t a) { return sum + gained(at, a) * normal(at); }, cuda::Add()) /
        n;
    c.each(
        [&](std::int64_t at, std::int64_t a, bool) { o.out[at] = m.scale * (gained(at, a) - mean_h - normal(at) * mean_hn); });
  }
};

// Which inputs are gain, bias and g; -1 if absent.
template <template <class> class Body, int gain, int bias, int g>
Kernel bind_normalize(const KernelRequest& request) {
  const std::int64_t width = request.inputs[0].sizes.back();
  const AxisView view{width == 0 ? 0 : request.inputs[0].count() / width, width, 1};
  const double epsilon = request.attributes->number("epsilon");
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[view, epsilon](const KernelContext& c) {
      const auto in = [&](int i) { return i < 0 ? nullptr : c.inputs[static_cast<std::size_t>(i)].as<const T>(); };
      cuda::for_columns(c, view, {nullptr, 1, view.n}, sizeof(T),
                        Body<T>{{in(0), in(gain), in(bias), in(g), c.outputs[0].as<T>(), static_cast<T>(epsilon)}});
    }};
  });
}
REGISTER_KERNEL("normalize", kCuda, bind_normalize<NormalizeBody, -1, -1, -1>);
REGISTER_KERNEL("layer_norm", kCuda, bind_normalize<NormalizeBody, 1, 2, -1>);
REGISTER_KERNEL("normalize_gradient", kCuda, bind_normalize<NormalizeGradientBody, 1, -1, 2>);

}  // namespace
}  // namespace graphrun
