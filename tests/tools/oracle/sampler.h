// Sampling on the host: the reference for the search of generation when it samples words.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/tools/oracle/beam_search.h"

namespace graphrun {

// `options.n_best` independent samples of each sentence, in the order in which they were drawn. The beam and the norm do not
// affect the choice of words; the norm determines the score. The log-probability of a sample is the model's, whatever the
// temperature. A sample does not depend on the other samples and sentences.
std::vector<std::vector<Hypothesis>> sample(StepModel& model, std::int64_t sentences, const SearchCase& options,
                                            const Sampling& sampling);

}  // namespace graphrun
