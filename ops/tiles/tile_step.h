// One step of a pointwise program, in the form that its kernel runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/tiles/draw.h"
#include "ops/tiles/tiles.h"
#include "runtime/base/dtype.h"

namespace graphrun {

struct TileOperand {
  enum class Kind : std::uint8_t { kInput, kStep, kNumber } kind = Kind::kInput;
  std::size_t index = 0;          // of the input or the earlier step
  double number = 0;              // an element of type `dtype`
  DType dtype = DType::kFloat32;  // the number's
};

// The `line` of a step that is a cast, which is not in the table.
inline constexpr std::size_t kCastLine = static_cast<std::size_t>(-1);

struct TileStep {
  PointwiseTile tile = nullptr;
  int arity = 0;
  std::array<TileOperand, 3> operands;
  DType dtype = DType::kFloat32;  // of the step's result
  int result = -1;                // which of the program's results it is; -1: an intermediate value
  int cost = 1;                   // per element, in additions
  std::size_t line = kCastLine;   // of pointwise_table()
  DType read = DType::kFloat32;   // of its operands (for where: of a and b)
  std::size_t instruction = 0;    // of the program: which one this is, or a part of
};

struct TileSteps {
  std::vector<TileStep> steps;
  // Inputs that are not tensors, numbered after those that are: BOOL, whether an element is kept.
  std::vector<Draw> draws;
};

}  // namespace graphrun
