// Vectors with scalar syntax: Vec<T> and Mask<T> have operators and `select`, so that an expression of the table is vector code
// as written. Included once for each instruction set, inside foreach_target.h's loop.
#if defined(GRAPHRUN_POINTWISE_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAPHRUN_POINTWISE_VECTOR_INL_H
#undef GRAPHRUN_POINTWISE_VECTOR_INL_H
#else
#define GRAPHRUN_POINTWISE_VECTOR_INL_H
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;

// One register of elements T: float, double, std::int32_t, or std::uint8_t for BOOL (0 or 1).
template <class T>
struct Vec;

template <class T>
struct Mask {
  hn::Mask<Tag<T>> m;
};

template <class T>
struct Vec {
  using Lane = T;
  hn::Vec<Tag<T>> v;

  Vec() = default;                             // uninitialized: for an array that is about to be filled
  HWY_INLINE Vec(hn::Vec<Tag<T>> v) : v(v) {}  // NOLINT
  template <class A, std::enable_if_t<std::is_arithmetic_v<A>, int> = 0>
  HWY_INLINE Vec(A number) : v(hn::Set(Tag<T>(), static_cast<T>(number))) {}  // NOLINT: a number stands for a vector of it

  friend HWY_INLINE Vec operator+(Vec a, Vec b) { return hn::Add(a.v, b.v); }
  friend HWY_INLINE Vec operator-(Vec a, Vec b) { return hn::Sub(a.v, b.v); }
  friend HWY_INLINE Vec operator*(Vec a, Vec b) { return hn::Mul(a.v, b.v); }
  friend HWY_INLINE Vec operator/(Vec a, Vec b) { return hn::Div(a.v, b.v); }
  friend HWY_INLINE Vec operator-(Vec a) { return hn::Neg(a.v); }
  friend HWY_INLINE Mask<T> operator==(Vec a, Vec b) { return {hn::Eq(a.v, b.v)}; }
  friend HWY_INLINE Mask<T> operator!=(Vec a, Vec b) { return {hn::Not(hn::Eq(a.v, b.v))}; }  // NaN is unequal too
  friend HWY_INLINE Mask<T> operator<(Vec a, Vec b) { return {hn::Lt(a.v, b.v)}; }
  friend HWY_INLINE Mask<T> operator>(Vec a, Vec b) { return {hn::Gt(a.v, b.v)}; }
  friend HWY_INLINE Mask<T> operator<=(Vec a, Vec b) { return {at_most(a, b)}; }
  friend HWY_INLINE Mask<T> operator>=(Vec a, Vec b) { return {at_most(b, a)}; }
  friend HWY_INLINE Vec operator&(Vec a, Vec b) { return hn::And(a.v, b.v); }
  friend HWY_INLINE Vec operator|(Vec a, Vec b) { return hn::Or(a.v, b.v); }
  friend HWY_INLINE Vec operator!(Vec a) { return hn::Xor(a.v, hn::Set(Tag<T>(), T{1})); }
  friend HWY_INLINE Vec select(Mask<T> condition, Vec a, Vec b) { return hn::IfThenElse(condition.m, a.v, b.v); }

 private:
  static HWY_INLINE hn::Mask<Tag<T>> at_most(Vec a, Vec b) {
    if constexpr (std::is_floating_point_v<T>) {
      return hn::Le(a.v, b.v);
    } else {
      return hn::Not(hn::Gt(a.v, b.v));  // for integers, Highway only has less and greater
    }
  }
};

// The lanes of a register in memory, to process one by one.
template <class T>
struct Lanes {
  HWY_ALIGN T lane[HWY_MAX_BYTES / sizeof(T)];
};

// Loads and stores the first `count` lanes; loads set the others to 0. Never accesses memory beyond them.
template <class T>
HWY_INLINE Vec<T> load_first(const T* from, std::size_t count) {
  const Tag<T> d;
#if HWY_TARGET <= HWY_AVX2
  if constexpr (sizeof(T) >= 4) return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#endif
  Lanes<T> buffer;
  hn::Store(hn::Zero(d), d, buffer.lane);
  std::memcpy(buffer.lane, from, count * sizeof(T));
  return hn::Load(d, buffer.lane);
}

template <class T>
HWY_INLINE void store_first(Vec<T> v, T* to, std::size_t count) {
  const Tag<T> d;
#if HWY_TARGET <= HWY_AVX2
  if constexpr (sizeof(T) >= 4) {
    hn::BlendedStore(v.v, hn::FirstN(d, count), d, to);
    return;
  }
#endif
  Lanes<T> buffer;
  hn::Store(v.v, d, buffer.lane);
  std::memcpy(to, buffer.lane, count * sizeof(T));
}

// Converts bytes 0 and 1 to a mask of T's lanes, and back.
template <class T>
HWY_INLINE Mask<T> mask_of_bytes(const std::uint8_t* from) {
  const Tag<T> d;
  if constexpr (sizeof(T) == 1) {
    return {hn::Ne(hn::LoadU(d, from), hn::Zero(d))};
  } else {
    const hn::Rebind<std::uint8_t, Tag<T>> d8;
    const hn::Rebind<std::uint32_t, Tag<T>> d32;
    const hn::RebindToUnsigned<Tag<T>> du;
    const auto wide = hn::PromoteTo(d32, hn::LoadU(d8, from));
    if constexpr (sizeof(T) == 4) {
      return {hn::RebindMask(d, hn::Ne(wide, hn::Zero(d32)))};
    } else {
      return {hn::RebindMask(d, hn::Ne(hn::PromoteTo(du, wide), hn::Zero(du)))};
    }
  }
}

template <class T>
HWY_INLINE void bytes_of_mask(Mask<T> mask, std::uint8_t* to) {
  const Tag<T> d;
  if constexpr (sizeof(T) == 1) {
    hn::StoreU(hn::And(hn::VecFromMask(d, mask.m), hn::Set(d, T{1})), d, to);
  } else {
    const hn::Rebind<std::uint8_t, Tag<T>> d8;
    const hn::RebindToUnsigned<Tag<T>> du;
    const auto ones = hn::And(hn::BitCast(du, hn::VecFromMask(d, mask.m)), hn::Set(du, 1));
    hn::StoreU(hn::TruncateTo(d8, ones), d8, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#endif  // per target
