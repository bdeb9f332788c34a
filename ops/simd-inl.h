// Loops over contiguous elements, and the few functions that Highway lacks, for one instruction set. Included once for each set
// by the files that follow the pattern of ops/simd_export.h.
#if defined(GRAPHRUN_OPS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAPHRUN_OPS_SIMD_INL_H_
#undef GRAPHRUN_OPS_SIMD_INL_H_
#else
#define GRAPHRUN_OPS_SIMD_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ops/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace hn = ::hwy::HWY_NAMESPACE;

// Calls body(d, i) for i in [0, n): whole vectors first, then vectors of at most 128 bits, then single elements; never accesses
// elements beyond n.
template <class T, class Body>
HWY_INLINE void for_lanes(std::int64_t n, const Body& body) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(d, i);
  const hn::CappedTag<T, 16 / sizeof(T)> quarter;
  const auto quarter_lanes = static_cast<std::int64_t>(hn::Lanes(quarter));
  if (quarter_lanes < lanes) {
    for (; i + quarter_lanes <= n; i += quarter_lanes) body(quarter, i);
  }
  const hn::CappedTag<T, 1> one;
  for (; i < n; ++i) body(one, i);
}

// e^x. NaN stays NaN (Highway's Exp gives 0 there); x is at most about 88 (float) or 709 (double).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

// The larger of two; if either is NaN, the result is NaN.
template <class V>
HWY_INLINE V larger(V so_far, V x) {
  return hn::IfThenElse(hn::Or(hn::Gt(x, so_far), hn::IsNaN(x)), x, so_far);
}
template <class V>
HWY_INLINE V smaller(V so_far, V x) {
  return hn::IfThenElse(hn::Or(hn::Lt(x, so_far), hn::IsNaN(x)), x, so_far);
}

// Folds a row to one number: step(d, accumulator, i) over whole vectors with four accumulators, then with a single lane;
// join(a, b) combines two accumulators of equal width.
template <class T, class Step, class Join>
HWY_INLINE T fold_row(std::int64_t n, T start, const Step& step, const Join& join) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const hn::CappedTag<T, 1> one;
  auto total = hn::Set(one, start);
  std::int64_t i = 0;
  if (n >= lanes) {
    auto a = hn::Set(d, start), b = a, c = a, e = a;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      a = step(d, a, i);
      b = step(d, b, i + lanes);
      c = step(d, c, i + 2 * lanes);
      e = step(d, e, i + 3 * lanes);
    }
    for (; i + lanes <= n; i += lanes) a = step(d, a, i);
    alignas(64) T each[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(join(join(a, b), join(c, e)), d, each);
    for (std::int64_t k = 0; k < lanes; ++k) total = join(total, hn::Set(one, each[k]));
  }
  for (; i < n; ++i) total = step(one, total, i);
  return hn::GetLane(total);
}

// The sum of term(d, i). Long rows are summed in pieces of 4096, whose sums are added in double precision.
template <class T, class Term>
HWY_INLINE T sum_row(std::int64_t n, const Term& term) {
  const auto piece = [&](std::int64_t begin, std::int64_t count) HWY_ATTR {
    return fold_row<T>(
        count, T{0}, [&](auto d, auto sum, std::int64_t i) HWY_ATTR { return hn::Add(sum, term(d, begin + i)); },
        [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
  };
  constexpr std::int64_t kPiece = 4096;
  if (n <= kPiece) return piece(0, n);
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    total += static_cast<double>(piece(begin, std::min(kPiece, n - begin)));
  }
  return static_cast<T>(total);
}

// The maximum or minimum of a row, with whole registers up to the last, which overlaps; NaN if an element is NaN.
template <bool kMax, class T>
HWY_INLINE T extreme_row(const T* x, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto start = hn::Set(d, kMax ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity());
  const auto join = [](auto so_far, auto v) HWY_ATTR {
    if constexpr (kMax) return larger(so_far, v);
    return smaller(so_far, v);
  };
  auto a = start, b = start, c = start, e = start;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = join(a, hn::LoadU(d, x + i));
    b = join(b, hn::LoadU(d, x + i + lanes));
    c = join(c, hn::LoadU(d, x + i + 2 * lanes));
    e = join(e, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = join(a, hn::LoadU(d, x + i));
  if (i < n) {
    const auto count = static_cast<std::size_t>(n - i);
    b = join(b, hn::IfThenElse(hn::FirstN(d, count), load_first(x + i, count).v, start));
  }
  const auto all = join(join(a, b), join(c, e));
  if (!hn::AllFalse(d, hn::IsNaN(all))) return std::numeric_limits<T>::quiet_NaN();
  if constexpr (kMax) return hn::GetLane(hn::MaxOfLanes(d, all));
  return hn::GetLane(hn::MinOfLanes(d, all));
}

template <class T>
HWY_INLINE T max_row(const T* x, std::int64_t n) {
  return extreme_row<true>(x, n);
}

template <class T>
HWY_INLINE T min_row(const T* x, std::int64_t n) {
  return extreme_row<false>(x, n);
}

// The value to subtract before taking exponentials: the maximum, or 0 if that is not finite.
template <class T>
HWY_INLINE T finite_or_zero(T most) {
  return most - most == T{0} ? most : T{0};
}

// The sum of e^(x - shift).
template <class T>
HWY_INLINE T sum_exp_row(const T* x, std::int64_t n, T shift) {
  return sum_row<T>(
      n, [&](auto d, std::int64_t i) HWY_ATTR { return exp_of(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift))); });
}

// y = e^(x - shift); returns the sum.
template <class T>
HWY_INLINE T exp_row(const T* x, std::int64_t n, T shift, T* y) {
  return sum_row<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto e = exp_of(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)));
    hn::StoreU(e, d, y + i);
    return e;
  });
}

template <class T>
HWY_INLINE T dot_row(const T* a, const T* b, std::int64_t n) {
  return sum_row<T>(n, [&](auto d, std::int64_t i) HWY_ATTR { return hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();
#endif  // GRAPHRUN_OPS_SIMD_INL_H_
