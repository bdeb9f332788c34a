// One step of a pointwise program, bound: an instruction (compiler/ir/pointwise_program.h) with the element types and the
// function of a kernel. A random draw is two steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/pointwise_program.h"
#include "ops/tiles/draw.h"
#include "ops/tiles/tiles.h"
#include "runtime/base/dtype.h"

namespace graphrun {

// An instruction is an earlier step here.
using TileOperand = ir::PointwiseProgram::Operand;

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

  // The element type of operand k: the condition of where is BOOL, the others are of one type.
  DType operand_dtype(std::size_t k) const { return arity == 3 && k == 0 ? DType::kBool : read; }
};

struct TileSteps {
  std::vector<TileStep> steps;
  // Inputs that are not tensors, numbered after those that are: BOOL, whether an element is kept.
  std::vector<Draw> draws;
};

}  // namespace graphrun
