// Fusion: pointwise ops, casts and dropout with results of one shape become one node `fused`, whose kernel keeps intermediate
// values in registers and cache. A group consists of nodes that are connected by values, or by operands of that shape that
// several of them read, provided that no path leads out of the group and back in. Numbers become part of the code; smaller
// operands broadcast. Values that only reductions read stay outside if their operands are in memory anyway: fuse_reductions
// takes them. A group that exceeds the limits of a program (compiler/ir/pointwise_program.h) is divided. A single op stays as
// it is.
//
// Must run last, since no other pass looks into a fused node, and after dead_code, so that every result has a reader. Numbers
// that lose their last reader here are dropped here.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult fuse(ir::Graph graph);

}  // namespace graphrun
