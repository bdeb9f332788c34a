// Constants of a step that the rows of a sentence share, such as the keys of its attention, instead of one copy for each.
#pragma once

#include "compiler/generation.h"

namespace graphrun {

// A step of the cut that reads constants of pointwise work by row number: their inputs have the sentences of the prologue in
// place of rows, and kSourceOf (search_graph.h), if there are such constants, says which of them each row reads.
ir::Graph with_shared_constants(ir::Graph step, const GenerationGraphs& cut);

}  // namespace graphrun
