// Constant folding: a pointwise op or cast of scalar constants becomes a constant, computed by the op's own float64, int32 or
// bool kernel. So does a size that is a number. What is computed from constants repeated to a shape becomes a constant repeated
// to that shape: most readers then read the scalar, such as the 1 from which the gradients of a loss start. The node stays if
// its value cannot be computed (the op has no kernel, or a cast is out of range). Random draws are never folded.
//
// Must run after: differentiation, whose equations contain constants. Leaves constants without readers to dead_code.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult fold_constants(ir::Graph graph);

}  // namespace graphrun
