#include "ops/tiles/runs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/tiles/runs.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "ops/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {

// Stores every run in whole registers; the next run overwrites what is beyond its end.
template <class T>
void spread(const T* in, T* out, std::int64_t runs, std::int64_t length) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < runs; ++r, out += length) {
    const auto v = hn::Set(d, in[r]);
    for (std::int64_t i = 0; i < length; i += lanes) hn::StoreU(v, d, out + i);
  }
}

template <class T>
void repeat(const T* in, T* out, std::int64_t rows, std::int64_t times, std::int64_t length) {
  const Tag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < rows; ++r, in += length) {
    if (length <= lanes) {
      const Vec<T> v = load_first(in, static_cast<std::size_t>(length));
      for (std::int64_t t = 0; t < times; ++t, out += length) hn::StoreU(v.v, d, out);
      continue;
    }
    for (std::int64_t t = 0; t < times; ++t, out += length) {
      for (std::int64_t i = 0; i + lanes <= length; i += lanes) hn::StoreU(hn::LoadU(d, in + i), d, out + i);
      // The last register may overlap the previous one.
      hn::StoreU(hn::LoadU(d, in + length - lanes), d, out + length - lanes);
    }
  }
}

}  // namespace

void spread_4(const std::uint32_t* in, std::uint32_t* out, std::int64_t runs, std::int64_t n) { spread(in, out, runs, n); }
void spread_8(const std::uint64_t* in, std::uint64_t* out, std::int64_t runs, std::int64_t n) { spread(in, out, runs, n); }
void repeat_4(const std::uint32_t* in, std::uint32_t* out, std::int64_t rows, std::int64_t times, std::int64_t n) {
  repeat(in, out, rows, times, n);
}
void repeat_8(const std::uint64_t* in, std::uint64_t* out, std::int64_t rows, std::int64_t times, std::int64_t n) {
  repeat(in, out, rows, times, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(spread_4);
HWY_EXPORT(spread_8);
HWY_EXPORT(repeat_4);
HWY_EXPORT(repeat_8);

void spread_runs(const std::uint32_t* in, std::uint32_t* out, std::int64_t runs, std::int64_t length) {
  HWY_DYNAMIC_DISPATCH(spread_4)(in, out, runs, length);
}
void spread_runs(const std::uint64_t* in, std::uint64_t* out, std::int64_t runs, std::int64_t length) {
  HWY_DYNAMIC_DISPATCH(spread_8)(in, out, runs, length);
}
void repeat_rows(const std::uint32_t* in, std::uint32_t* out, std::int64_t rows, std::int64_t times, std::int64_t length) {
  HWY_DYNAMIC_DISPATCH(repeat_4)(in, out, rows, times, length);
}
void repeat_rows(const std::uint64_t* in, std::uint64_t* out, std::int64_t rows, std::int64_t times, std::int64_t length) {
  HWY_DYNAMIC_DISPATCH(repeat_8)(in, out, rows, times, length);
}

}  // namespace graphrun
#endif
