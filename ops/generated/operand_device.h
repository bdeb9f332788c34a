// Finds the elements of broadcast operands on a device.
#pragma once

#include <cstdint>

#include "runtime/cuda/primitives.h"

namespace graphrun::element {

// Uses strides over as few axes of the result as possible; most operands are whole or one element.
struct OperandPlace {
  static constexpr int kMostAxes = 12;
  enum Kind : int { kWhole, kOne, kStrided } kind = kWhole;
  int axes = 0;
  std::int64_t sizes[kMostAxes] = {}, strides[kMostAxes] = {};

  GRAPHRUN_DEVICE std::int64_t at(std::int64_t i) const {
    if (kind != kStrided) return kind == kWhole ? i : 0;
    std::int64_t place = 0;
    for (int axis = axes - 1; axis > 0; --axis) {
      place += i % sizes[axis] * strides[axis];
      i /= sizes[axis];
    }
    return place + i * strides[0];
  }
};

}  // namespace graphrun::element
