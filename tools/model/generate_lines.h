// Words for lines, as an infer block's `generate` makes them.
#pragma once

#include <memory>

#include "compiler/ir/graph.h"
#include "tools/model/inference.h"
#include "tools/text/lines.h"

namespace graphrun {

// Reads the lines in batches and writes what is made of each to stdout, in their order: its best words, with n_best above 1
// Moses' lines, or JSON; with `force`, the log-probability of the text that stands beside it. Where nothing but words is needed
// (Generator::takes_prompts), the lines, or else those of `prefix` or `force`, are what is continued or scored. Throws
// UserError: (kUsage) for options that do not go together; (kInvalidGraph) check_generate's; (kBadData) whatever is wrong with
// a line or a file.
void generate_lines(const ir::Graph& graph, const Network& network, const Parameters& parameters, const InferSpec& mode,
                    std::unique_ptr<LineReader> lines, const InferOptions& options);

}  // namespace graphrun
