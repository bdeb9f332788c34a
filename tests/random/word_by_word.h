// A graph that is cut for generation, run word by word on words that are given.
#pragma once

#include <string>

#include "compiler/generation.h"
#include "tests/random/runs.h"

namespace graphrun::random_graphs {

struct WordByWord {
  std::string differs;  // from all steps at once; empty: nothing does
  // At run time, or because states begin with what the first word makes, or something has a size of what the words come with.
  std::string refused;
};

// `graph`: in inference. Throws what cut_for_generation throws.
WordByWord word_by_word(const ir::Graph& graph, const GenerationSpec& spec, const Data& data);

}  // namespace graphrun::random_graphs
