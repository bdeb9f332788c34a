// The lines of the table (ops/tiles/table.def) as functions of one element on a device: for .cu files and for the text of
// generated kernels.
#pragma once

#include "ops/generated/device_functions.h"

namespace graphrun {

// `expression` sees the functions of graphrun::element.
namespace lines {

using namespace element;  // NOLINT
#define UNARY(name, promotion, expression, ...) \
  struct Op_##name {                            \
    template <class T>                          \
    static GRAPHRUN_DEVICE auto of(T x) {       \
      return expression;                        \
    }                                           \
  };
#define BINARY(name, promotion, expression, ...) \
  struct Op_##name {                             \
    template <class T>                           \
    static GRAPHRUN_DEVICE auto of(T a, T b) {   \
      return expression;                         \
    }                                            \
  };
#define TERNARY(name, promotion, expression, ...)              \
  struct Op_##name {                                           \
    template <class T>                                         \
    static GRAPHRUN_DEVICE auto of(bool condition, T a, T b) { \
      return expression;                                       \
    }                                                          \
  };
#include "ops/tiles/table.def"
#undef UNARY
#undef BINARY
#undef TERNARY

}  // namespace lines

}  // namespace graphrun
