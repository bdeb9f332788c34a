// Constant folding: a pointwise op or cast on scalar constants becomes a constant, computed by the op's own float64, int32 or
// bool kernel; so does a size that is a number. A kernel that refuses (an op without one, a cast out of range) leaves its node
// alone. Draws of random numbers are never folded.
//
// Must run after: differentiation, whose equations hold constants. Leaves constants without readers to dead_code.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult fold_constants(ir::Graph graph);

}  // namespace graphrun
