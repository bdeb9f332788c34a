#include "ops/normalize/normalize_simd.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalize/normalize_simd.cc"
#include "hwy/foreach_target.h"
#include "ops/simd-inl.h"
#include "ops/simd_export.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {

template <class T>
struct Moments {
  T mean, scale;  // scale: 1 / sqrt(variance + epsilon)
};

template <class T>
HWY_INLINE Moments<T> moments_of(const T* x, std::int64_t n, T epsilon) {
  const T mean = sum_row<T>(n, [&](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); }) / static_cast<T>(n);
  const T squares = sum_row<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto centered = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    return hn::Mul(centered, centered);
  });
  return {mean, T{1} / std::sqrt(squares / static_cast<T>(n) + epsilon)};
}

template <class T>
void normalize_rows(const NormalizeTask<T>& task) {
  const std::int64_t n = task.width;
  for (std::int64_t row = task.begin; row < task.end; ++row) {
    const T* x = task.x + row * n;
    T* out = task.out + row * n;
    const Moments<T> m = moments_of(x, n, task.epsilon);
    for_lanes<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
      auto y = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, m.mean)), hn::Set(d, m.scale));
      if (task.gain != nullptr) y = hn::Mul(y, hn::LoadU(d, task.gain + i));
      if (task.bias != nullptr) y = hn::Add(y, hn::LoadU(d, task.bias + i));
      hn::StoreU(y, d, out + i);
    });
  }
}

template <class T>
void normalize_gradient_rows(const NormalizeTask<T>& task) {
  const std::int64_t n = task.width;
  for (std::int64_t row = task.begin; row < task.end; ++row) {
    const T *x = task.x + row * n, *g = task.g + row * n;
    T* out = task.out + row * n;
    const Moments<T> m = moments_of(x, n, task.epsilon);
    const auto normal = [&](auto d, std::int64_t i)
                            HWY_ATTR { return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, m.mean)), hn::Set(d, m.scale)); };
    const auto gained = [&](auto d, std::int64_t i) HWY_ATTR {
      const auto h = hn::LoadU(d, g + i);
      return task.gain == nullptr ? h : hn::Mul(h, hn::LoadU(d, task.gain + i));
    };
    const T mean_h = sum_row<T>(n, gained) / static_cast<T>(n);
    const T mean_hn =
        sum_row<T>(n, [&](auto d, std::int64_t i) HWY_ATTR { return hn::Mul(gained(d, i), normal(d, i)); }) / static_cast<T>(n);
    for_lanes<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto centered = hn::Sub(gained(d, i), hn::Set(d, mean_h));
      hn::StoreU(hn::Mul(hn::Set(d, m.scale), hn::NegMulAdd(normal(d, i), hn::Set(d, mean_hn), centered)), d, out + i);
    });
  }
}

GRAPHRUN_SIMD_OP(normalize_rows, NormalizeTask)
GRAPHRUN_SIMD_OP(normalize_gradient_rows, NormalizeTask)

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {
GRAPHRUN_SIMD_EXPORT(normalize_rows, NormalizeTask)
GRAPHRUN_SIMD_EXPORT(normalize_gradient_rows, NormalizeTask)
}  // namespace graphrun
#endif
