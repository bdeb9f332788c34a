// Sampling: words drawn as the model holds them probable.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/generate/beam_search.h"

namespace graphrun {

struct Sampling {
  double temperature = 1;           // scores are divided by it; towards 0 the best word alone is left
  std::int64_t top_k = 0;           // drawn from so many best; 0: from all
  std::vector<std::uint64_t> keys;  // by sentence: of its random numbers, the same key the same words
};

// `options.n_best` independent samples of each sentence, in the order that they were drawn; the options' beam and norm choose
// nothing here, the score is the norm's. A sample's log-probability is the model's own, whatever the temperature. It does not
// depend on the other samples and sentences.
std::vector<std::vector<Hypothesis>> sample(StepModel& model, std::int64_t sentences, const SearchOptions& options,
                                            const Sampling& sampling);

}  // namespace graphrun
