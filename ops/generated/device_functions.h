// The functions of the table's expressions (ops/tiles/table.def) for one element on a device: in kernels that nvcc compiles, in
// generated code for NVRTC, and in their emulation on the host. They require nothing of the compiler but C's single-precision
// functions.
#pragma once

#include <cstdint>

#include "runtime/cuda/primitives.h"

#if !defined(__CUDACC__)
#include <math.h>
#endif

namespace graphrun::element {

GRAPHRUN_DEVICE float exp(float x) { return ::expf(x); }
GRAPHRUN_DEVICE float log(float x) { return ::logf(x); }
GRAPHRUN_DEVICE float log1p(float x) { return ::log1pf(x); }
GRAPHRUN_DEVICE float sqrt(float x) { return ::sqrtf(x); }
GRAPHRUN_DEVICE float sin(float x) { return ::sinf(x); }
GRAPHRUN_DEVICE float cos(float x) { return ::cosf(x); }
GRAPHRUN_DEVICE float erf(float x) { return ::erff(x); }
GRAPHRUN_DEVICE float tanh(float x) { return ::tanhf(x); }
GRAPHRUN_DEVICE float floor(float x) { return ::floorf(x); }
GRAPHRUN_DEVICE float abs(float x) { return ::fabsf(x); }
GRAPHRUN_DEVICE double exp(double x) { return ::exp(x); }
GRAPHRUN_DEVICE double log(double x) { return ::log(x); }
GRAPHRUN_DEVICE double log1p(double x) { return ::log1p(x); }
GRAPHRUN_DEVICE double sqrt(double x) { return ::sqrt(x); }
GRAPHRUN_DEVICE double sin(double x) { return ::sin(x); }
GRAPHRUN_DEVICE double cos(double x) { return ::cos(x); }
GRAPHRUN_DEVICE double erf(double x) { return ::erf(x); }
GRAPHRUN_DEVICE double tanh(double x) { return ::tanh(x); }
GRAPHRUN_DEVICE double floor(double x) { return ::floor(x); }
GRAPHRUN_DEVICE double abs(double x) { return ::fabs(x); }
GRAPHRUN_DEVICE std::int32_t abs(std::int32_t x) { return x < 0 ? -x : x; }

// The powers that are computed as products are the same as on the CPU.
GRAPHRUN_DEVICE float power(float a, float b) { return ::powf(a, b); }
GRAPHRUN_DEVICE double power(double a, double b) { return ::pow(a, b); }
template <class T>
GRAPHRUN_DEVICE T pow(T a, T b) {
  if (b == T(-1)) return T(1) / a;
  if (b == T(2)) return a * a;
  if (b == T(3)) return a * a * a;
  if (b == T(4)) return (a * a) * (a * a);
  return power(a, b);
}

// Values that no literal expresses; the argument only selects the type.
#if defined(__CUDACC__)
GRAPHRUN_DEVICE float infinity(float) { return __int_as_float(0x7F800000); }
GRAPHRUN_DEVICE double infinity(double) { return __longlong_as_double(0x7FF0000000000000); }
#else
GRAPHRUN_DEVICE float infinity(float) { return HUGE_VALF; }
GRAPHRUN_DEVICE double infinity(double) { return HUGE_VAL; }
#endif

template <class A, class B>
GRAPHRUN_DEVICE auto select(bool condition, A a, B b) {
  return condition ? a : b;
}

// Uses e^-|x| for both signs, so that small results keep their precision.
template <class T>
GRAPHRUN_DEVICE T sigmoid(T x) {
  const T e = exp(-abs(x));
  return (x < 0 ? e : T(1)) / (1 + e);
}

// As the op `cast`: truncates toward zero and clamps to the range; NaN becomes 0.
template <class To, class From>
GRAPHRUN_DEVICE To cast(From x) {
  return static_cast<To>(x);
}
template <class From>
GRAPHRUN_DEVICE std::int32_t to_int32(From x) {
  if (!(x == x)) return 0;
  if (x <= From(-2147483648.0)) return -2147483647 - 1;
  if (x >= From(2147483647.0)) return 2147483647;
  return static_cast<std::int32_t>(x);
}
template <>
GRAPHRUN_DEVICE std::int32_t cast<std::int32_t, float>(float x) {
  return to_int32(x);
}
template <>
GRAPHRUN_DEVICE std::int32_t cast<std::int32_t, double>(double x) {
  return to_int32(x);
}
template <class From>
GRAPHRUN_DEVICE std::uint8_t to_bool(From x) {
  return x != From(0) ? 1 : 0;
}

}  // namespace graphrun::element
