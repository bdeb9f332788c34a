// A lexical table from a model's own attention: which words of its output attend to which words of its input.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "tools/model/model_folder.h"
#include "tools/shortlist/lexicon.h"

namespace graphrun {

// The counts of pairs in a corpus in the job's format: each word of the mode's field is fed as if it were generated. Its pairs
// with the words of align's field count by the weights with which it attends to them, if these are kLeastWeight or more. The
// mode aligns (GenerateSpec::align); its shortlist is not used. Throws UserError: (kInvalidGraph) Generator's; (kBadData)
// read_dataset's.
inline constexpr float kLeastWeight = 0.1F;
LexicalCounts count_alignments(const ir::Graph& graph, const Network& network, const InferSpec& mode,
                               const Parameters& parameters, const std::vector<std::string>& files, const Device& device);

}  // namespace graphrun
