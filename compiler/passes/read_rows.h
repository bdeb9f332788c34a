// Reading by row number: what only selects rows of an operand (kSelectRows) disappears where every reader is pointwise work, a
// program or one with reductions, which then finds the rows itself (ops/tiles/row_reads.h). A single pointwise op becomes a
// program. A program reads through at most one list. A selection through a list whose length is the literal 1 stays, because
// its row might broadcast. The axis of the rows must not be the last, nor one that is reduced.
//
// Must run after: fuse_reductions. Loops are left alone, because a program in one would no longer be shared by threads.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult read_rows(ir::Graph graph);

}  // namespace graphrun
