// Constant folding: a pointwise op or cast of scalar constants becomes a constant, computed by the op's own float64, int32 or
// bool kernel. So does a size that is a number. What is computed of constants repeated to a shape becomes a constant repeated
// to that shape: most readers then read the scalar, as gradients of a loss read its 1. If the kernel refuses (no kernel, a cast
// out of range), the node stays. Random draws are never folded.
//
// Must run after: differentiation, whose equations contain constants. Leaves constants without readers to dead_code.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult fold_constants(ir::Graph graph);

}  // namespace graphrun
