// Whether two outputs of the same segments differ by more than chance: paired bootstrap resampling (Koehn 2004), as sacreBLEU's
// --paired-bs computes it.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/score/text_score.h"

namespace graphrun {

struct Bootstrap {
  double score = 0;
  double mean = 0, margin = 0;  // over the samples: 95 % of them are about within mean ± margin
  double p_value = 1;           // of a difference from the baseline by chance; the baseline itself: 1
};

// The counts of each segment, of the baseline first. Throws InternalError where the outputs have not equally many.
std::vector<Bootstrap> paired_bootstrap(const TextScore& score, const std::vector<std::vector<Counts>>& outputs,
                                        std::int64_t samples, std::uint64_t seed);

}  // namespace graphrun
