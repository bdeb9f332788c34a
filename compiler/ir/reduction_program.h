// Pointwise results that are reduced as they are computed: the text that the op `fused_reduction` carries.
//
//   t0 = add(x0, x1); t1 = exp(t0); return max(t0), sum(t1)
//
// A pointwise program (compiler/ir/pointwise_program.h) whose results are not stored: each is reduced, all along the same axes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/pointwise_program.h"

namespace graphrun::ir {

struct ReductionProgram {
  // The limit on temporaries, inputs and results together, so that a piece of each, in double precision too, fits on the stack.
  static constexpr std::size_t kMostPieces = 64;

  struct Fold {
    std::string op;          // one of is_fold: OpSchema::fold
    std::size_t result = 0;  // the result of `program` that is reduced
    friend bool operator==(const Fold&, const Fold&) = default;
  };

  PointwiseProgram program;
  std::vector<Fold> folds;

  friend bool operator==(const ReductionProgram&, const ReductionProgram&) = default;
};

// The reductions that a program may end with: sum, mean, max, min, logsumexp, argmax, argmin.
bool is_fold(std::string_view op);
// Whether its result is a position (INT32) rather than a number.
bool gives_position(std::string_view op);

std::string print(const ReductionProgram& program);
// Throws InternalError for invalid text: only the compiler writes programs.
ReductionProgram parse_reduction_program(std::string_view text);

}  // namespace graphrun::ir
