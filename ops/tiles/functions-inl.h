// The functions of the table's expressions on vectors. float32: exp, log, log1p, tanh, sigmoid and erf are polynomials, each
// within 4 units in the last place for all floats (tests/ops/pointwise_functions_test.cc), and correct for infinities, NaN,
// subnormal numbers and where they saturate. float64, used for checks rather than speed: the C library, lane by lane.
#if defined(GRAPHRUN_POINTWISE_FUNCTIONS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAPHRUN_POINTWISE_FUNCTIONS_INL_H
#undef GRAPHRUN_POINTWISE_FUNCTIONS_INL_H
#else
#define GRAPHRUN_POINTWISE_FUNCTIONS_INL_H
#endif

#include <cmath>
#include <limits>

#include "ops/tiles/coefficients.h"
#include "ops/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace of = coefficients;

// f(x) for each lane.
template <class T, T (*f)(T)>
HWY_INLINE Vec<T> lane_by_lane(Vec<T> x) {
  const Tag<T> d;
  Lanes<T> buffer;
  hn::Store(x.v, d, buffer.lane);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) buffer.lane[i] = f(buffer.lane[i]);
  return hn::Load(d, buffer.lane);
}

// The C library's functions, with a common signature.
namespace library {
template <class T>
inline T exp(T x) {
  return std::exp(x);
}
template <class T>
inline T log(T x) {
  return std::log(x);
}
template <class T>
inline T log1p(T x) {
  return std::log1p(x);
}
template <class T>
inline T tanh(T x) {
  return std::tanh(x);
}
template <class T>
inline T erf(T x) {
  return std::erf(x);
}
template <class T>
inline T sin(T x) {
  return std::sin(x);
}
template <class T>
inline T cos(T x) {
  return std::cos(x);
}
}  // namespace library

template <class T>
HWY_INLINE Vec<T> abs(Vec<T> x) {
  return hn::Abs(x.v);
}
template <class T>
HWY_INLINE Vec<T> sqrt(Vec<T> x) {
  return hn::Sqrt(x.v);
}
template <class T>
HWY_INLINE Vec<T> floor(Vec<T> x) {
  return hn::Floor(x.v);
}
template <class T>
HWY_INLINE Vec<T> sin(Vec<T> x) {
  return lane_by_lane<T, library::sin<T>>(x);
}
template <class T>
HWY_INLINE Vec<T> cos(Vec<T> x) {
  return lane_by_lane<T, library::cos<T>>(x);
}

// Powers that are products, for a number or a vector a; false if the power is none of them. Keep in step with
// ops/generated/device_functions.h.
template <class T, class A>
HWY_INLINE bool power_by_products(A a, T b, A& y) {
  if (b == T(-1)) return y = A(T(1)) / a, true;
  if (b == T(2)) return y = a * a, true;
  if (b == T(3)) return y = a * a * a, true;
  if (b == T(4)) return y = a * a, y = y * y, true;
  return false;
}

// An element's power does not depend on the other lanes.
template <class T>
HWY_INLINE Vec<T> pow(Vec<T> a, Vec<T> b) {
  const Tag<T> d;
  const T first = hn::GetLane(b.v);
  Vec<T> product;
  if (hn::AllTrue(d, hn::Eq(b.v, hn::Set(d, first))) && power_by_products(a, first, product)) return product;
  Lanes<T> x, y;
  hn::Store(a.v, d, x.lane);
  hn::Store(b.v, d, y.lane);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if (!power_by_products(x.lane[i], y.lane[i], x.lane[i])) x.lane[i] = std::pow(x.lane[i], y.lane[i]);
  }
  return hn::Load(d, x.lane);
}

HWY_INLINE Vec<double> exp(Vec<double> x) { return lane_by_lane<double, library::exp<double>>(x); }
HWY_INLINE Vec<double> log(Vec<double> x) { return lane_by_lane<double, library::log<double>>(x); }
HWY_INLINE Vec<double> log1p(Vec<double> x) { return lane_by_lane<double, library::log1p<double>>(x); }
HWY_INLINE Vec<double> tanh(Vec<double> x) { return lane_by_lane<double, library::tanh<double>>(x); }
HWY_INLINE Vec<double> erf(Vec<double> x) { return lane_by_lane<double, library::erf<double>>(x); }

using F32 = Vec<float>;

HWY_INLINE F32 multiply_add(F32 a, F32 b, F32 c) { return hn::MulAdd(a.v, b.v, c.v); }

// c[0] xⁿ + … + c[n].
template <std::size_t N>
HWY_INLINE F32 polynomial(F32 x, const float (&c)[N]) {
  F32 y = c[0];
#pragma GCC unroll 16
  for (std::size_t i = 1; i < N; ++i) y = multiply_add(y, x, c[i]);
  return y;
}

HWY_INLINE F32 copy_sign(F32 magnitude, F32 sign) { return hn::CopySign(magnitude.v, sign.v); }

// eˣ = 2ⁿ eʳ, |r| ≤ ln 2 / 2. Without an instruction that scales by 2ⁿ, the scale is applied as two factors, so that the result
// may be subnormal or overflow.
HWY_INLINE F32 exp(F32 x) {
  const Tag<float> d;
#if HWY_TARGET <= HWY_AVX3
  // A NaN passes through: if an operand is NaN, min and max return the second.
  const F32 inside = hn::Min(F32(of::kExpHighest).v, hn::Max(F32(of::kExpLowest).v, x.v));
  const F32 n = multiply_add(inside, of::kLog2E, of::kWhole) - of::kWhole;
#else
  const F32 inside = hn::Min(hn::Max(x.v, F32(of::kExpLowest).v), F32(of::kExpHighest).v);
  const F32 n = hn::Round((inside * F32(of::kLog2E)).v);
#endif
  const F32 r = multiply_add(n, -of::kLn2Low, multiply_add(n, -of::kLn2High, inside));
  const F32 e = multiply_add(polynomial(r, of::kExp), r * r, r) + 1;
#if HWY_TARGET <= HWY_AVX3
  return hn::Vec<decltype(d)>{_mm512_scalef_ps(e.v.raw, n.v.raw)};
#else
  const Tag<std::int32_t> di;
  const auto exponent = hn::ConvertTo(di, n.v);
  const auto half = hn::ShiftRight<1>(exponent);
  const auto bias = hn::Set(di, 127);
  const F32 first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const F32 second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(exponent, half), bias)));
  return select(x == x, e * first * second, x);
#endif
}

// ln x = e ln 2 + ln(1 + f), 1 + f the mantissa in [√½, √2) (Cephes).
HWY_INLINE F32 log(F32 x) {
  const Tag<float> d;
  const Tag<std::int32_t> di;
  const Mask<float> subnormal = x < F32(std::numeric_limits<float>::min());
  const F32 normal = select(subnormal, x * F32(of::kTwoTo23), x);
  // The exponent of normal / √½, so that the mantissa is around 1.
  const auto root_half = hn::Set(di, of::kRootHalfBits);
  const auto bits = hn::Sub(hn::BitCast(di, normal.v), root_half);
  const F32 e = F32(hn::ConvertTo(d, hn::ShiftRight<23>(bits))) - select(subnormal, F32(23), 0);
  const F32 f = F32(hn::BitCast(d, hn::Add(hn::And(bits, hn::Set(di, of::kMantissaBits)), root_half))) - 1;
  const F32 square = f * f;
  F32 y = polynomial(f, of::kLog) * f * square;
  y = multiply_add(e, of::kLn2Low, y);
  y = multiply_add(square, -0.5f, y);
  y = multiply_add(e, of::kLn2High, f + y);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  y = select(x < kInfinity, y, x);  // preserve infinity and NaN
  y = select(x == 0, -kInfinity, y);
  return select(x < 0, std::numeric_limits<float>::quiet_NaN(), y);
}

// With u = 1 + x rounded, ln(1 + x) = ln u + (x - (u - 1)) / u, to first order in the rounding error.
HWY_INLINE F32 log1p(F32 x) {
  const F32 u = 1 + x;
  const F32 y = log(u);
  const F32 exact = y + (x - (u - 1)) / u;
  // Otherwise u is 0, infinite, negative or NaN, and ln u is the result. x = -0 keeps its sign.
  return select(x == 0, x, select(u > 0, select(u < std::numeric_limits<float>::infinity(), exact, y), y));
}

// Near 0 an odd polynomial, otherwise 1 - 2 / (e^2|x| + 1).
HWY_INLINE F32 tanh(F32 x) {
  const F32 size = abs(x);
  const F32 square = x * x;
  const F32 near = multiply_add(polynomial(square, of::kTanh), square * size, size);
  const F32 far = 1 - 2 / (exp(size + size) + 1);
  return copy_sign(select(size < of::kTanhNear, near, far), x);
}

// Uses e^-|x| for both signs, so that small results keep their precision.
template <class T>
HWY_INLINE Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> e = exp(-abs(x));
  return select(x < 0, e, 1) / (1 + e);
}

// Near 0 an odd polynomial; otherwise 1 - exp(-P(|x|)).
HWY_INLINE F32 erf(F32 x) {
  const F32 size = abs(x);
  const F32 square = x * x;
  const F32 near = multiply_add(polynomial(square, of::kErfNearBy), x, x);
  const F32 inside = hn::Min(size.v, F32(of::kErfFarthest).v);  // beyond 4 the result is 1; NaN takes the other branch
  const F32 far = copy_sign(1 - exp(multiply_add(polynomial(inside, of::kErfFarBy), inside, -inside)), x);
  return select(size > of::kErfNear, far, near);
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#endif  // per target
