// The table of pointwise ops, each line evaluated on vectors that emit machine code (ops/tiles/machine_vector.h).
#pragma once

#include <variant>
#include <vector>

#include "ops/tiles/machine_vector.h"
#include "ops/tiles/table.h"
#include "runtime/base/dtype.h"

namespace graphrun::machine {

// The result of a step, while code is being emitted.
using Value = std::variant<F32, I32, Bool>;

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = F32;
};
template <>
struct VectorOf<std::int32_t> {
  using Type = I32;
};
template <>
struct VectorOf<std::uint8_t> {
  using Type = Bool;
};

inline Value value_of(F32 x) { return x; }
inline Value value_of(I32 x) { return x; }
inline Value value_of(Bool x) { return x; }
inline Value value_of(Mask x) { return Bool(x); }

// Each line as a type with its expression.
#define UNARY(name, promotion, expression, ...)    \
  struct Line_##name {                             \
    template <class V>                             \
    static Value apply(V x) {                      \
      using T [[maybe_unused]] = typename V::Lane; \
      return value_of(expression);                 \
    }                                              \
  };
#define BINARY(name, promotion, expression, ...)   \
  struct Line_##name {                             \
    template <class V>                             \
    static Value apply(V a, V b) {                 \
      using T [[maybe_unused]] = typename V::Lane; \
      return value_of(expression);                 \
    }                                              \
  };
#define TERNARY(name, promotion, expression, ...)  \
  struct Line_##name {                             \
    template <class V>                             \
    static Value apply(Mask condition, V a, V b) { \
      using T [[maybe_unused]] = typename V::Lane; \
      return value_of(expression);                 \
    }                                              \
  };
#include "ops/tiles/table.def"
#undef UNARY
#undef BINARY
#undef TERNARY

template <class T>
constexpr bool has_code(ir::Promotion promotion) {
  switch (promotion) {
    case ir::Promotion::kArithmetic: return sizeof(T) > 1;
    case ir::Promotion::kFloat: return std::is_floating_point_v<T>;
    case ir::Promotion::kLogical: return sizeof(T) == 1;
    case ir::Promotion::kCompare:
    case ir::Promotion::kSelect: return true;
    case ir::Promotion::kNone: return false;
  }
  return false;
}

template <class Line, ir::Promotion promotion, int arity, class T>
Value write_line(const std::vector<Value>& in) {
  using V = typename VectorOf<T>::Type;
  if constexpr (!has_code<T>(promotion)) {
    throw NoCode();
  } else if constexpr (arity == 1) {
    return Line::apply(std::get<V>(in[0]));
  } else if constexpr (arity == 2) {
    return Line::apply(std::get<V>(in[0]), std::get<V>(in[1]));
  } else {
    return Line::apply(static_cast<Mask>(std::get<Bool>(in[0])), std::get<V>(in[1]), std::get<V>(in[2]));
  }
}

template <class Line, ir::Promotion promotion, int arity>
Value write_line(DType read, const std::vector<Value>& in) {
  switch (read) {
    case DType::kFloat32: return write_line<Line, promotion, arity, float>(in);
    case DType::kInt32: return write_line<Line, promotion, arity, std::int32_t>(in);
    case DType::kBool: return write_line<Line, promotion, arity, std::uint8_t>(in);
    case DType::kFloat64: break;
  }
  throw NoCode();
}

using WriteLine = Value (*)(DType read, const std::vector<Value>& in);
// Indexed by line.
inline constexpr WriteLine kLines[] = {
#define UNARY(name, promotion, ...) write_line<Line_##name, ir::Promotion::promotion, 1>,
#define BINARY(name, promotion, ...) write_line<Line_##name, ir::Promotion::promotion, 2>,
#define TERNARY(name, promotion, ...) write_line<Line_##name, ir::Promotion::promotion, 3>,
#include "ops/tiles/table.def"
#undef UNARY
#undef BINARY
#undef TERNARY
};

// Throws NoCode if there is none.
inline Value write_cast(const Value& x, DType to) {
  if (to == DType::kFloat32) {
    if (std::holds_alternative<F32>(x)) return x;
    if (const Bool* b = std::get_if<Bool>(&x)) return select(static_cast<Mask>(*b), F32(1), F32(0));
    return as_number(std::get<I32>(x));
  }
  if (to == DType::kInt32) {
    if (std::holds_alternative<I32>(x)) return x;
    if (const Bool* b = std::get_if<Bool>(&x)) return select(static_cast<Mask>(*b), I32(1), I32(0));
  }
  if (to == DType::kBool) {
    if (const I32* i = std::get_if<I32>(&x)) return Bool(*i != I32(0));
    if (const F32* f = std::get_if<F32>(&x)) return Bool(*f != F32(0));
    return x;
  }
  throw NoCode();  // a conversion from float to integers must clamp and handle NaN
}

}  // namespace graphrun::machine
