// The vocabularies of a job's fields.
#pragma once

#include <optional>

#include "tools/data/dataset_reader.h"
#include "tools/data/feed_plan.h"
#include "tools/data/spec.h"
#include "tools/text/vocabulary.h"

namespace graphrun {

// The vocabularies of all fields. Given ones are read; the others are built from the training files, with the special entries
// of the job and the words that feeds join. If the training files are read for this, their examples are stored in `examples`,
// unless it is null, so that they need not be read again. Every column or key of the job must then exist, and errors in fields
// that contribute to no vocabulary are reported when the examples are taken. Throws UserError: (kBadData) for any other error
// in a file; (kNoRoom, E0502) if examples that are too large for memory do not fit on the disk.
Vocabularies build_vocabularies(const DataSpec& data, const FeedPlan& plan, std::optional<ReadExamples>* examples = nullptr);

// Sets how text is made from the field's entries.
void set_text_form(const DataSpec& data, const FieldSpec& field, Vocabulary& vocabulary);

}  // namespace graphrun
