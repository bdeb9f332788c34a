// One step of a pointwise program as its kernel runs it.
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
  std::size_t index = 0;          // of the input or of an earlier step
  double number = 0;              // an element of type `dtype`
  DType dtype = DType::kFloat32;  // the number's
};

// A step's `line` where it is a cast, which the table does not have.
inline constexpr std::size_t kCastLine = static_cast<std::size_t>(-1);

struct TileStep {
  PointwiseTile tile = nullptr;
  int arity = 0;
  std::array<TileOperand, 3> operands;
  DType dtype = DType::kFloat32;  // of what it makes
  int result = -1;                // which of the results that is; -1: none, it is read by later steps alone
  int cost = 1;                   // an element's, in additions
  std::size_t line = kCastLine;   // of pointwise_table()
  DType read = DType::kFloat32;   // of its operands (where: of a and b)
  std::size_t instruction = 0;    // of the program: which one this is, or a part of
};

struct TileSteps {
  std::vector<TileStep> steps;
  // Inputs that are no tensors, in the order of their indices behind those that are: BOOL, whether an element stays.
  std::vector<Draw> draws;
};

}  // namespace graphrun
