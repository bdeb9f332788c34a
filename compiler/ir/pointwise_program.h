// Pointwise computations of one shape as a small program, which the ops `fused` and `fused_reduction` carry as an attribute:
// the CPU runs it as machine code or tile by tile, and code for other devices is generated from it. Printed, one is
//
//   t0 = sub(x0, x1); t1 = sigmoid(t0); t2 = mul(t1, 2.0); t3 = cast(t2, INT32); return t1, t3
//   t0 = add(x0, x1); t1 = exp(t0); return max(t0), sum(t1)
//
// x0, x1, … are the node's inputs, and t0, t1, … the instructions in order; ops are those of ops/tiles/table.def, cast, and
// dropout with its mask, `t4 = dropout(t2, 0.5, "layers.0.x")`. Numbers: 2.0 is FLOAT, 2 INT32, true BOOL. The returned values
// are the node's results. Those of the second program are not stored: each is reduced, all along the same axes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/fold.h"
#include "compiler/ir/op.h"

namespace graphrun::ir {

struct PointwiseProgram {
  // Limits chosen so that a tile of every value fits into the first-level cache, and all addresses on the stack.
  static constexpr std::size_t kMostInstructions = 64, kMostInputs = 24, kMostResults = 16, kMostDraws = 8;
  // The limit on temporaries, inputs and results of a program with folds together, so that a piece of each, in double precision
  // too, fits on the stack.
  static constexpr std::size_t kMostPieces = 64;

  struct Operand {
    enum class Kind : std::uint8_t { kInput, kInstruction, kNumber } kind = Kind::kInput;
    std::size_t index = 0;  // of the input or the instruction
    double number = 0;
    Type type = Type::kFloat;  // of the number

    static Operand input(std::size_t i) { return {Kind::kInput, i, 0, Type::kFloat}; }
    static Operand instruction(std::size_t i) { return {Kind::kInstruction, i, 0, Type::kFloat}; }
    static Operand constant(double x, Type type) { return {Kind::kNumber, 0, x, type}; }
    // Numbers are equal if their bits are: 0 is not -0.
    friend bool operator==(const Operand& a, const Operand& b) {
      return a.kind == b.kind && a.index == b.index && a.type == b.type &&
             std::bit_cast<std::uint64_t>(a.number) == std::bit_cast<std::uint64_t>(b.number);
    }
  };
  struct Instruction {
    const OpSchema* op = nullptr;
    std::vector<Operand> operands;  // of earlier instructions
    Type to = Type::kFloat;         // for cast: the target type
    double rate = 0;                // for a random draw: the fraction that is dropped
    std::string key;                // for a random draw: its name
    friend bool operator==(const Instruction&, const Instruction&) = default;
  };

  std::vector<Instruction> instructions;
  std::vector<std::size_t> results;  // instructions, each once
  std::vector<Fold> folds = {};      // how results are reduced; empty: they are the node's results as they are

  friend bool operator==(const PointwiseProgram&, const PointwiseProgram&) = default;
  std::size_t inputs() const;  // the largest index read, plus one
};

// Whether a program may contain this op.
bool is_program_op(const OpSchema& op);
// Whether the op draws random numbers: dropout and dropout_mask.
bool is_draw(const OpSchema& op);

std::string print(const PointwiseProgram& program);
// For tests, and for graphs that are read from text. Throws InternalError if the text is not a program.
PointwiseProgram parse_program(std::string_view text);
// The program that a node carries as its attribute "code".
inline const PointwiseProgram& program_of(const Attributes& attributes) {
  return attributes.opaque("code").as<PointwiseProgram>();
}

// The type and shape of each instruction, from its op's own rule. Throws OpError if operands do not fit.
std::vector<TensorType> infer(const PointwiseProgram& program, const std::vector<TensorType>& inputs);

// (result, input): if both have the same type and shape, the result may overwrite the input, because nothing reads the input
// after the result's instruction, in any tile.
std::vector<std::pair<int, int>> in_place_pairs(const PointwiseProgram& program);

}  // namespace graphrun::ir
