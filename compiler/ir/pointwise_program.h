// Pointwise computations of one shape as a small program: the op `fused` carries it as text, the CPU interprets it tile by
// tile, and code for other devices is generated from it.
//
//   t0 = sub(x0, x1); t1 = sigmoid(t0); t2 = mul(t1, 2.0); t3 = cast(t2, INT32); return t1, t3
//
// x0, x1, … are the node's inputs, and t0, t1, … the instructions in order; ops are those of ops/tiles/table.def, cast, and
// dropout with its mask, `t4 = dropout(t2, 0.5, "layers.0.x")`. Numbers: 2.0 is FLOAT, 2 INT32, true BOOL. The returned values
// are the node's results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/op.h"

namespace graphrun::ir {

struct PointwiseProgram {
  // Limits so that a tile of each fits in the first-level cache, and their addresses on the stack.
  static constexpr std::size_t kMostInstructions = 64, kMostInputs = 24, kMostResults = 16, kMostDraws = 8;

  struct Operand {
    enum class Kind : std::uint8_t { kInput, kInstruction, kNumber } kind = Kind::kInput;
    std::size_t index = 0;  // of the input or the instruction
    double number = 0;
    Type type = Type::kFloat;  // of the number

    static Operand input(std::size_t i) { return {Kind::kInput, i, 0, Type::kFloat}; }
    static Operand instruction(std::size_t i) { return {Kind::kInstruction, i, 0, Type::kFloat}; }
    static Operand constant(double x, Type type) { return {Kind::kNumber, 0, x, type}; }
    friend bool operator==(const Operand&, const Operand&) = default;
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

  friend bool operator==(const PointwiseProgram&, const PointwiseProgram&) = default;
  std::size_t inputs() const;  // the largest index read, plus one
};

// Whether a program may contain this op.
bool is_program_op(const OpSchema& op);
// Whether it is one of those that draw random numbers: dropout and dropout_mask.
bool is_draw(const OpSchema& op);

std::string print(const PointwiseProgram& program);
// Throws InternalError for invalid text: only the compiler writes programs.
PointwiseProgram parse_program(std::string_view text);

// The type and shape of each instruction, from its op's own rule. Throws OpError if operands do not fit.
std::vector<TensorType> infer(const PointwiseProgram& program, const std::vector<TensorType>& inputs);

// (result, input): if both have the same type and shape, the result may overwrite the input, because nothing reads the input
// after the result's instruction, in any tile.
std::vector<std::pair<int, int>> in_place_pairs(const PointwiseProgram& program);

}  // namespace graphrun::ir
