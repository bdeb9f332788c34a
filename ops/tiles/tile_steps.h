// Converts a pointwise program, as a node carries it, to the steps of its kernel.
#pragma once

#include <vector>

#include "compiler/ir/pointwise_program.h"
#include "ops/tiles/tile_program.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// The program's instructions for the operands of the request; FLOAT is the float type of an operand, or of a result if no
// operand has one. Random draws are separate inputs, after the request's.
TileSteps tile_steps(const ir::PointwiseProgram& program, const KernelRequest& request);

// The kernel of such a program, whose operands and results are the request's.
Kernel program_kernel(const ir::PointwiseProgram& program, const KernelRequest& request, RowReads rows = {});

}  // namespace graphrun
