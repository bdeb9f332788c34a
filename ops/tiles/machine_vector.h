// Vectors whose operators emit instructions: evaluating an expression of the table on them generates machine code (AVX-512, 16
// elements at a time). They mirror Vec and Mask of ops/vector-inl.h and the functions of functions-inl.h operation by
// operation, so that both give the same bits.
#pragma once

#include <asmjit/x86.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/tiles/coefficients.h"

namespace graphrun::machine {

namespace x86 = asmjit::x86;

// Thrown for an expression that has no code.
struct NoCode {};

// The code being written. Registers and masks carry their writer, so an expression writes to the code of its operands.
struct Writer {
  x86::Compiler& cc;
  x86::Gp numbers_at;
  std::vector<std::uint32_t>& numbers;  // read by the code, so they live as long as it does

  // The memory operand of a constant that the code reads.
  x86::Mem number(std::uint32_t bits) {
    std::size_t i = 0;
    while (i < numbers.size() && numbers[i] != bits) ++i;
    if (i == numbers.size()) {
      if (numbers.size() == numbers.capacity()) throw NoCode();  // the code contains their addresses
      numbers.push_back(bits);
    }
    return x86::dword_ptr(numbers_at, static_cast<std::int32_t>(4 * i));
  }
};

struct Mask {
  Writer* writer = nullptr;
  x86::KReg k;
};

// One register of elements T, or a number that all of them equal. A number has a writer only if it is an operand of a whole
// expression: `on` gives it one. At least one operand of every operation has a writer.
template <class T>
class Vec {
 public:
  using Lane = T;
  static_assert(sizeof(T) == 4);

  Vec(Writer& writer, x86::Zmm reg) : writer_(&writer), reg_(reg) {}
  template <class A, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>
  Vec(A number) : is_number_(true), bits_(std::bit_cast<std::uint32_t>(static_cast<T>(number))) {}  // NOLINT

  Vec on(Writer& writer) const {
    Vec v = *this;
    v.writer_ = &writer;
    return v;
  }
  Writer* writer() const { return writer_; }  // null: a number without a writer
  x86::Zmm reg(Writer& writer) const {
    if (!is_number_) return reg_;
    const x86::Zmm r = writer.cc.newZmm();
    writer.cc.vbroadcastss(r, writer.number(bits_));
    return r;
  }
  x86::Zmm reg() const { return reg(*writer_); }
  x86::Zmm copy(Writer& writer) const {
    if (is_number_) return reg(writer);
    const x86::Zmm r = writer.cc.newZmm();
    writer.cc.vmovaps(r, reg_);
    return r;
  }
  bool is_number() const { return is_number_; }
  // Uses it as the last operand of an instruction.
  template <class Fn>
  void as_operand(Writer& writer, Fn&& fn) const {
    if (is_number_) {
      fn(writer.number(bits_)._1to16());
    } else {
      fn(reg_);
    }
  }

 private:
  Writer* writer_ = nullptr;
  x86::Zmm reg_;
  bool is_number_ = false;
  std::uint32_t bits_ = 0;
};

using F32 = Vec<float>;
using I32 = Vec<std::int32_t>;

// The writer of the first operand that has one.
template <class First, class... Rest>
Writer& writer_of(const First& first, const Rest&... rest) {
  Writer* const writer = first.writer();
  if constexpr (sizeof...(rest) > 0) return writer != nullptr ? *writer : writer_of(rest...);
  return *writer;
}

// A new register, written by `emit(cc, register, a, b)`.
template <class T, class Emit>
Vec<T> made_of(const Vec<T>& a, const Vec<T>& b, Emit&& emit) {
  Writer& w = writer_of(a, b);
  const x86::Zmm left = a.reg(w), out = w.cc.newZmm();
  b.as_operand(w, [&](const auto& right) { emit(w.cc, out, left, right); });
  return {w, out};
}
template <class T, class Emit>
Mask mask_of(const Vec<T>& a, const Vec<T>& b, Emit&& emit) {
  Writer& w = writer_of(a, b);
  const x86::Zmm left = a.reg(w);
  const x86::KReg out = w.cc.newKw();
  b.as_operand(w, [&](const auto& right) { emit(w.cc, out, left, right); });
  return {&w, out};
}
// A new register, written by `emit(cc, register, x)`.
template <class Result, class T, class Emit>
Result made_of(const Vec<T>& x, Emit&& emit) {
  Writer& w = writer_of(x);
  const x86::Zmm in = x.reg(w), out = w.cc.newZmm();
  emit(w.cc, out, in);
  return {w, out};
}

#define GRAPHRUN_VECTOR_OPERATOR(op, for_float, for_int)                                                            \
  inline F32 operator op(F32 a, F32 b) {                                                                            \
    return made_of(a, b, [](auto& cc, auto out, auto left, const auto& right) { cc.for_float(out, left, right); }); \
  }                                                                                                                 \
  inline I32 operator op(I32 a, I32 b) {                                                                            \
    return made_of(a, b, [](auto& cc, auto out, auto left, const auto& right) { cc.for_int(out, left, right); });   \
  }
GRAPHRUN_VECTOR_OPERATOR(+, vaddps, vpaddd)
GRAPHRUN_VECTOR_OPERATOR(-, vsubps, vpsubd)
GRAPHRUN_VECTOR_OPERATOR(*, vmulps, vpmulld)
#undef GRAPHRUN_VECTOR_OPERATOR

inline F32 operator/(F32 a, F32 b) {
  return made_of(a, b, [](auto& cc, auto out, auto left, const auto& right) { cc.vdivps(out, left, right); });
}
// Bitwise operations.
template <class T>
Vec<T> bits_and(Vec<T> a, Vec<T> b) {
  return made_of(a, b, [](auto& cc, auto out, auto left, const auto& right) { cc.vpandd(out, left, right); });
}
template <class T>
Vec<T> bits_or(Vec<T> a, Vec<T> b) {
  return made_of(a, b, [](auto& cc, auto out, auto left, const auto& right) { cc.vpord(out, left, right); });
}
template <class T>
Vec<T> bits_xor(Vec<T> a, Vec<T> b) {
  return made_of(a, b, [](auto& cc, auto out, auto left, const auto& right) { cc.vpxord(out, left, right); });
}
inline F32 as_float(I32 x) { return {writer_of(x), x.reg()}; }
inline I32 as_int(F32 x) { return {writer_of(x), x.reg()}; }
inline I32 as_int(F32 x, Writer& w) { return {w, x.reg(w)}; }
inline F32 sign_bit() { return F32(-0.f); }

inline F32 operator-(F32 a) { return bits_xor(a, sign_bit()); }
inline I32 operator-(I32 a) { return I32(0) - a; }
inline F32 abs(F32 x) { return as_float(bits_and(as_int(x), I32(0x7FFFFFFF))); }
inline I32 abs(I32 x) {
  return made_of<I32>(x, [](auto& cc, auto out, auto in) { cc.vpabsd(out, in); });
}

// For floats: ordered and quiet; kUnequal is true if either is NaN. For integers, the low three bits have the same meaning.
enum class Compare : std::uint8_t { kEqual = 0x00, kLess = 0x11, kAtMost = 0x12, kUnequal = 0x04 };
inline Mask compare(F32 a, F32 b, Compare how) {
  return mask_of(a, b, [how](auto& cc, auto out, auto left, const auto& right) {
    cc.vcmpps(out, left, right, asmjit::imm(static_cast<int>(how)));
  });
}
inline Mask compare(I32 a, I32 b, Compare how) {
  return mask_of(a, b, [how](auto& cc, auto out, auto left, const auto& right) {
    cc.vpcmpd(out, left, right, asmjit::imm(static_cast<int>(how) & 7));
  });
}
#define GRAPHRUN_VECTOR_COMPARISONS(V)                                                                  \
  inline Mask operator==(V a, V b) { return compare(a, b, Compare::kEqual); }                           \
  inline Mask operator!=(V a, V b) { return compare(a, b, Compare::kUnequal); }                         \
  inline Mask operator<(V a, V b) { return compare(a, b, Compare::kLess); }                             \
  inline Mask operator<=(V a, V b) { return compare(a, b, Compare::kAtMost); }                          \
  inline Mask operator>(V a, V b) { return compare(b, a, Compare::kLess); }                             \
  inline Mask operator>=(V a, V b) { return compare(b, a, Compare::kAtMost); }                          \
  inline V select(Mask condition, V a, V b) {                                                           \
    Writer& w = *condition.writer;                                                                      \
    const x86::Zmm out = b.copy(w); /* else it would count as read, and be saved from round to round */ \
    a.as_operand(w, [&](const auto& then) { w.cc.k(condition.k).vblendmps(out, out, then); });          \
    return {w, out};                                                                                    \
  }
GRAPHRUN_VECTOR_COMPARISONS(F32)
GRAPHRUN_VECTOR_COMPARISONS(I32)
#undef GRAPHRUN_VECTOR_COMPARISONS

// BOOL: a mask that behaves like a vector.
class Bool {
 public:
  using Lane = std::uint8_t;
  Bool(Mask mask) : mask_(mask) {}  // NOLINT
  explicit operator Mask() const { return mask_; }
  x86::KReg k() const { return mask_.k; }
  Writer& writer() const { return *mask_.writer; }

 private:
  Mask mask_;
};
template <class Emit>
Mask of_masks(Bool a, Bool b, Emit&& emit) {
  Writer& w = a.writer();
  const x86::KReg out = w.cc.newKw();
  emit(w.cc, out, a.k(), b.k());
  return {&w, out};
}
inline Bool operator&(Bool a, Bool b) {
  return of_masks(a, b, [](auto& cc, auto out, auto l, auto r) { cc.kandw(out, l, r); });
}
inline Bool operator|(Bool a, Bool b) {
  return of_masks(a, b, [](auto& cc, auto out, auto l, auto r) { cc.korw(out, l, r); });
}
inline Mask operator!=(Bool a, Bool b) {
  return of_masks(a, b, [](auto& cc, auto out, auto l, auto r) { cc.kxorw(out, l, r); });
}
inline Mask operator==(Bool a, Bool b) {
  return of_masks(a, b, [](auto& cc, auto out, auto l, auto r) { cc.kxnorw(out, l, r); });
}
inline Bool operator!(Bool a) {
  Writer& w = a.writer();
  const x86::KReg out = w.cc.newKw();
  w.cc.knotw(out, a.k());
  return Mask{&w, out};
}
inline Bool select(Mask condition, Bool a, Bool b) { return (Bool(condition) & a) | ((!Bool(condition)) & b); }
inline Mask operator<(Bool a, Bool b) { return static_cast<Mask>((!a) & b); }
inline Mask operator>(Bool a, Bool b) { return b < a; }
inline Mask operator<=(Bool a, Bool b) { return static_cast<Mask>((!a) | b); }
inline Mask operator>=(Bool a, Bool b) { return b <= a; }

// ---- functions on float32, as in functions-inl.h

namespace of = coefficients;

// a b + c, rounded once.
inline F32 multiply_add(F32 a, F32 b, F32 c) {
  Writer& w = writer_of(a, b, c);
  const x86::Zmm out = a.copy(w);
  if (b.is_number() && !c.is_number()) {
    const x86::Zmm plus = c.reg(w);
    b.as_operand(w, [&](const auto& times) { w.cc.vfmadd132ps(out, plus, times); });
  } else {
    const x86::Zmm times = b.reg(w);
    c.as_operand(w, [&](const auto& plus) { w.cc.vfmadd213ps(out, times, plus); });
  }
  return {w, out};
}

template <std::size_t N>
F32 polynomial(F32 x, const float (&c)[N]) {
  F32 y = c[0];
  for (std::size_t i = 1; i < N; ++i) y = multiply_add(y, x, c[i]);
  return y;
}

inline F32 copy_sign(F32 magnitude, F32 sign) {
  return as_float(
      bits_or(bits_and(as_int(magnitude), I32(0x7FFFFFFF)), bits_and(as_int(sign), as_int(sign_bit(), writer_of(sign)))));
}

inline F32 sqrt(F32 x) {
  return made_of<F32>(x, [](auto& cc, auto out, auto in) { cc.vsqrtps(out, in); });
}
inline F32 floor(F32 x) {
  return made_of<F32>(x, [](auto& cc, auto out, auto in) { cc.vrndscaleps(out, in, asmjit::imm(0x9)); });
}
// If either operand is NaN, returns the second.
inline F32 lesser(F32 a, F32 b) {
  return made_of(a, b, [](auto& cc, auto out, auto left, const auto& right) { cc.vminps(out, left, right); });
}
inline F32 greater(F32 a, F32 b) {
  return made_of(a, b, [](auto& cc, auto out, auto left, const auto& right) { cc.vmaxps(out, left, right); });
}

// Converts the value, not the bits.
inline F32 as_number(I32 x) {
  return made_of<F32>(x, [](auto& cc, auto out, auto in) { cc.vcvtdq2ps(out, in); });
}

inline F32 exp(F32 x) {
  const F32 inside = lesser(of::kExpHighest, greater(of::kExpLowest, x));
  const F32 n = multiply_add(inside, of::kLog2E, of::kWhole) - of::kWhole;
  const F32 r = multiply_add(n, -of::kLn2Low, multiply_add(n, -of::kLn2High, inside));
  const F32 e = multiply_add(polynomial(r, of::kExp), r * r, r) + 1;
  return made_of(e, n, [](auto& cc, auto out, auto left, const auto& right) { cc.vscalefps(out, left, right); });
}

inline F32 log(F32 x) {
  const Mask subnormal = x < F32(std::numeric_limits<float>::min());
  const F32 normal = select(subnormal, x * F32(of::kTwoTo23), x);
  Writer& w = writer_of(x);
  const I32 root_half(w, I32(of::kRootHalfBits).reg(w)), bits = as_int(normal) - root_half;
  const I32 exponent = made_of<I32>(bits, [](auto& cc, auto out, auto in) { cc.vpsrad(out, in, asmjit::imm(23)); });
  const F32 e = as_number(exponent) - select(subnormal, F32(23), F32(0));
  const F32 f = as_float(bits_and(bits, I32(of::kMantissaBits)) + root_half) - F32(1);
  const F32 square = f * f;
  F32 y = polynomial(f, of::kLog) * f * square;
  y = multiply_add(e, of::kLn2Low, y);
  y = multiply_add(square, -0.5f, y);
  y = multiply_add(e, of::kLn2High, f + y);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  y = select(x < F32(kInfinity), y, x);
  y = select(x == F32(0), F32(-kInfinity), y);
  return select(x < F32(0), F32(std::numeric_limits<float>::quiet_NaN()), y);
}

inline F32 log1p(F32 x) {
  const F32 u = F32(1) + x;
  const F32 y = log(u);
  const F32 exact = y + (x - (u - F32(1))) / u;
  return select(x == F32(0), x, select(u > F32(0), select(u < F32(std::numeric_limits<float>::infinity()), exact, y), y));
}

inline F32 tanh(F32 x) {
  const F32 size = abs(x), square = x * x;
  const F32 near = multiply_add(polynomial(square, of::kTanh), square * size, size);
  const F32 far = F32(1) - F32(2) / (exp(size + size) + F32(1));
  return copy_sign(select(size < F32(of::kTanhNear), near, far), x);
}

inline F32 sigmoid(F32 x) {
  const F32 e = exp(-abs(x));
  return select(x < F32(0), e, F32(1)) / (F32(1) + e);
}

inline F32 erf(F32 x) {
  const F32 size = abs(x), square = x * x;
  const F32 near = multiply_add(polynomial(square, of::kErfNearBy), x, x);
  const F32 inside = lesser(size, of::kErfFarthest);
  const F32 far = copy_sign(F32(1) - exp(multiply_add(polynomial(inside, of::kErfFarBy), inside, -inside)), x);
  return select(size > F32(of::kErfNear), far, near);
}

// The C library's functions, which have no code.
inline F32 sin(F32) { throw NoCode(); }
inline F32 cos(F32) { throw NoCode(); }
inline F32 pow(F32, F32) { throw NoCode(); }

}  // namespace graphrun::machine
