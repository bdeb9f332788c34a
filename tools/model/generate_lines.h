// Generates words for lines, as an infer block's `generate` says.
#pragma once

#include <memory>

#include "compiler/ir/graph.h"
#include "tools/model/inference.h"
#include "tools/text/lines.h"

namespace graphrun {

// Reads the lines in batches and writes the result for each to stdout, in order: its best words; with n_best above 1, Moses'
// n-best lines; or JSON; with `force`, the log-probability of the given text. If the network reads no input but the words
// (Generator::takes_prompts), the lines, or those of `prefix` or `force`, are continued or scored. Throws UserError: (kUsage)
// for conflicting options; (kInvalidGraph) check_generate's; (kBadData) for errors in a line or file.
void generate_lines(const ir::Graph& graph, const Network& network, const Parameters& parameters, const InferSpec& mode,
                    std::unique_ptr<LineReader> lines, const InferOptions& options);

}  // namespace graphrun
