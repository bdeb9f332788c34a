// A data set and a batch of it as text, for people to look at.
#pragma once

#include <cstdint>
#include <string>

#include "tools/data/batch_source.h"
#include "tools/data/dataset.h"

namespace graphrun {

// Counts of the set, a line for each field: entries, share of unknown ones, longest example, examples left out, vocabulary.
std::string describe_set(const DataSpec& data, const Dataset& set, const Vocabularies& vocabularies);

struct PreviewLimits {
  std::int64_t rows = 4;    // shown; 0: all
  std::int64_t steps = 16;  // shown of a row; 0: all
};
// Every feed of the batch: name, type, sizes; of each row the entries with their numbers, `·` where it is padding.
std::string describe_batch(const FeedPlan& plan, const Vocabularies& vocabularies, const Dataset& set, const Batch& batch,
                           const PreviewLimits& limits);

}  // namespace graphrun
