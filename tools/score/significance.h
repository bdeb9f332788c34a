// Whether two outputs of the same segments differ by more than chance: paired bootstrap resampling (Koehn 2004), as sacreBLEU's
// --paired-bs computes it.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/score/text_score.h"

namespace graphrun {

struct Bootstrap {
  double score = 0;
  double mean = 0, margin = 0;  // about 95 % of the samples are within mean ± margin
  double p_value = 1;           // of the difference from the baseline; 1 for the baseline
};

// `counts`: by output, the baseline first, then by segment. Throws InternalError if the outputs have different numbers of
// segments.
std::vector<Bootstrap> paired_bootstrap(const TextScore& score, const std::vector<std::vector<Counts>>& outputs,
                                        std::int64_t samples, std::uint64_t seed);

// The fraction of samples whose difference from the baseline is further from its mean than the actual difference of the scores;
// NaN if a score is not finite, since no difference is further than NaN, and the fraction would be the smallest.
double bootstrap_p_value(const std::vector<double>& baseline, const std::vector<double>& other, double difference);

}  // namespace graphrun
