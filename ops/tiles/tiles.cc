// The primitives of ops/tiles/tiles.h, for every line of the table, every element type and every instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/tiles/tiles.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "ops/tiles/functions-inl.h"
#include "ops/tiles/table.h"
#include "ops/tiles/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace graphrun {
namespace HWY_NAMESPACE {
namespace {

// One operand of a tile: a run of elements, or one element, replicated in a buffer that is read again and again. Both are read
// by the same loop, so that they give the same bits.
template <class T>
struct TileReader {
  const T* at;
  std::size_t step;
  Lanes<T> repeated;

  HWY_INLINE TileReader(const void* data, bool scalar) : at(static_cast<const T*>(data)), step(hn::Lanes(Tag<T>())) {
    if (!scalar) return;
    hn::Store(hn::Set(Tag<T>(), *at), Tag<T>(), repeated.lane);
    at = repeated.lane;
    step = 0;
  }
  HWY_INLINE Vec<T> next() {
    const Vec<T> v = hn::LoadU(Tag<T>(), at);
    at += step;
    return v;
  }
  HWY_INLINE Vec<T> rest(std::size_t count) const { return load_first(at, count); }
};

// BOOL read as a mask of T's lanes: the condition of a choice.
template <class T>
struct Condition {
  const std::uint8_t* at;
  std::size_t step;
  Lanes<std::uint8_t> repeated;

  HWY_INLINE Condition(const void* data, bool scalar) : at(static_cast<const std::uint8_t*>(data)), step(hn::Lanes(Tag<T>())) {
    if (!scalar) return;
    std::memset(repeated.lane, *at, sizeof(repeated.lane));
    at = repeated.lane;
    step = 0;
  }
  HWY_INLINE Mask<T> next() {
    const Mask<T> m = mask_of_bytes<T>(at);
    at += step;
    return m;
  }
  HWY_INLINE Mask<T> rest(std::size_t count) const {
    Lanes<std::uint8_t> buffer = {};
    std::memcpy(buffer.lane, at, count);
    return mask_of_bytes<T>(buffer.lane);
  }
};

template <class T>
HWY_INLINE void store(Vec<T> v, void* out, std::size_t i) {
  hn::StoreU(v.v, Tag<T>(), static_cast<T*>(out) + i);
}
template <class T>
HWY_INLINE void store(Mask<T> m, void* out, std::size_t i) {
  bytes_of_mask(m, static_cast<std::uint8_t*>(out) + i);
}
template <class T>
HWY_INLINE void store_rest(Vec<T> v, void* out, std::size_t i, std::size_t count) {
  store_first(v, static_cast<T*>(out) + i, count);
}
template <class T>
HWY_INLINE void store_rest(Mask<T> m, void* out, std::size_t i, std::size_t count) {
  Lanes<std::uint8_t> buffer;
  bytes_of_mask(m, buffer.lane);
  std::memcpy(static_cast<std::uint8_t*>(out) + i, buffer.lane, count);
}

template <class Op, class T>
void unary(const void* const* in, const bool* scalar, void* out, std::size_t n) {
  const std::size_t lanes = hn::Lanes(Tag<T>());
  TileReader<T> x(in[0], scalar[0]);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) store(Op::apply(x.next()), out, i);
  if (i < n) store_rest(Op::apply(x.rest(n - i)), out, i, n - i);
}

template <class Op, class T>
void binary(const void* const* in, const bool* scalar, void* out, std::size_t n) {
  const std::size_t lanes = hn::Lanes(Tag<T>());
  TileReader<T> a(in[0], scalar[0]), b(in[1], scalar[1]);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) store(Op::apply(a.next(), b.next()), out, i);
  if (i < n) store_rest(Op::apply(a.rest(n - i), b.rest(n - i)), out, i, n - i);
}

template <class Op, class T>
void ternary(const void* const* in, const bool* scalar, void* out, std::size_t n) {
  const std::size_t lanes = hn::Lanes(Tag<T>());
  Condition<T> condition(in[0], scalar[0]);
  TileReader<T> a(in[1], scalar[1]), b(in[2], scalar[2]);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) store(Op::apply(condition.next(), a.next(), b.next()), out, i);
  if (i < n) store_rest(Op::apply(condition.rest(n - i), a.rest(n - i), b.rest(n - i)), out, i, n - i);
}

// Each line as a type with its expression.
#define UNARY(name, promotion, expression, ...)    \
  struct Op_##name {                               \
    template <class V>                             \
    static HWY_INLINE auto apply(V x) {            \
      using T [[maybe_unused]] = typename V::Lane; \
      return expression;                           \
    }                                              \
  };
#define BINARY(name, promotion, expression, ...)   \
  struct Op_##name {                               \
    template <class V>                             \
    static HWY_INLINE auto apply(V a, V b) {       \
      using T [[maybe_unused]] = typename V::Lane; \
      return expression;                           \
    }                                              \
  };
#define TERNARY(name, promotion, expression, ...)         \
  struct Op_##name {                                      \
    template <class M, class V>                           \
    static HWY_INLINE auto apply(M condition, V a, V b) { \
      using T [[maybe_unused]] = typename V::Lane;        \
      return expression;                                  \
    }                                                     \
  };
#include "ops/tiles/table.def"
#undef UNARY
#undef BINARY
#undef TERNARY

// Whether a line's promotion admits element type T (uint8: BOOL).
template <class T>
constexpr bool admits(ir::Promotion promotion) {
  constexpr bool kIsBool = sizeof(T) == 1;
  switch (promotion) {
    case ir::Promotion::kArithmetic: return !kIsBool;
    case ir::Promotion::kFloat: return std::is_floating_point_v<T>;
    case ir::Promotion::kLogical: return kIsBool;
    case ir::Promotion::kCompare:
    case ir::Promotion::kSelect: return true;
    case ir::Promotion::kNone: return false;
  }
  return false;
}

template <class Op, class T, ir::Promotion promotion, int arity>
constexpr PointwiseTile tile() {
  if constexpr (!admits<T>(promotion)) {
    return nullptr;
  } else if constexpr (arity == 1) {
    return &unary<Op, T>;
  } else if constexpr (arity == 2) {
    return &binary<Op, T>;
  } else {
    return &ternary<Op, T>;
  }
}

struct TilesOfLine {
  PointwiseTile by_dtype[4];
};

template <class Op, ir::Promotion p, int arity>
constexpr TilesOfLine tiles() {
  return {{tile<Op, float, p, arity>(), tile<Op, double, p, arity>(), tile<Op, std::int32_t, p, arity>(),
           tile<Op, std::uint8_t, p, arity>()}};
}

}  // namespace

PointwiseTile find_tile(std::size_t line, DType dtype) {
#define UNARY(name, promotion, ...) tiles<Op_##name, ir::Promotion::promotion, 1>(),
#define BINARY(name, promotion, ...) tiles<Op_##name, ir::Promotion::promotion, 2>(),
#define TERNARY(name, promotion, ...) tiles<Op_##name, ir::Promotion::promotion, 3>(),
  static constexpr TilesOfLine kTiles[] = {
#include "ops/tiles/table.def"
  };
#undef UNARY
#undef BINARY
#undef TERNARY
  return kTiles[line].by_dtype[static_cast<std::size_t>(dtype)];
}

}  // namespace HWY_NAMESPACE
}  // namespace graphrun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graphrun {

HWY_EXPORT(find_tile);

PointwiseTile pointwise_tile(std::size_t line, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_tile)(line, dtype); }

}  // namespace graphrun
#endif
