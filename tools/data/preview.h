// A data set and one of its batches as text for people.
#pragma once

#include <cstdint>
#include <string>

#include "tools/data/batch_source.h"
#include "tools/data/dataset.h"

namespace graphrun {

// Counts of the set, one line per field: entries, fraction of unknown ones, longest example, dropped examples, vocabulary.
std::string describe_set(const DataSpec& data, const Dataset& set, const Vocabularies& vocabularies);

struct PreviewLimits {
  std::int64_t rows = 4;    // rows to show; 0: all
  std::int64_t steps = 16;  // steps to show of a row; 0: all
};
// Every feed of the batch: name, type, sizes, and for each row the entries with their numbers; `·` marks padding.
std::string describe_batch(const FeedPlan& plan, const Vocabularies& vocabularies, const Dataset& set, const Batch& batch,
                           const PreviewLimits& limits);

}  // namespace graphrun
