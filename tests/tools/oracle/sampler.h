// Sampling on the host: what the search of generation is compared with where it draws words.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/tools/oracle/beam_search.h"

namespace graphrun {

// `options.n_best` independent samples of each sentence, in the order that they were drawn; the options' beam and norm choose
// nothing here, the score is the norm's. A sample's log-probability is the model's own, whatever the temperature. It does not
// depend on the other samples and sentences.
std::vector<std::vector<Hypothesis>> sample(StepModel& model, std::int64_t sentences, const SearchCase& options,
                                            const Sampling& sampling);

}  // namespace graphrun
