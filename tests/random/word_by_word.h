// Runs a graph that was cut for generation word by word, on given words.
#pragma once

#include <string>

#include "compiler/generation.h"
#include "tests/random/runs.h"

namespace graphrun::random_graphs {

struct WordByWord {
  std::string differs;  // from all steps at once; empty if nothing does
  // At run time, or because an initial state depends on the first word, or a size is known only from the words.
  std::string refused;
};

// `graph`: compiled for inference. Throws whatever cut_for_generation throws.
WordByWord word_by_word(const ir::Graph& graph, const GenerationSpec& spec, const Data& data);

}  // namespace graphrun::random_graphs
