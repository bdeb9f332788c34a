// Fusion: pointwise ops, casts and dropout that make results of one shape become one node `fused`, whose kernel keeps what
// stands between them in registers and cache. A group is what is joined by its values, or by operands of that shape that
// several read, as far as no path leads out of it and back in. Numbers are written into its code; smaller operands broadcast.
// What reductions alone read, of values that lie in memory anyway, is left to fuse_reductions.
// Groups are cut where they pass the limits of a program (compiler/ir/pointwise_program.h). One op alone stays as it is.
//
// Must run last: no other pass looks into a fused node. After dead_code, so that results are those alone that somebody reads;
// numbers that nobody reads any more it drops itself.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult fuse(ir::Graph graph);

}  // namespace graphrun
