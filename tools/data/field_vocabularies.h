// The vocabularies of a job's fields.
#pragma once

#include <optional>

#include "tools/data/dataset_reader.h"
#include "tools/data/feed_plan.h"
#include "tools/data/spec.h"
#include "tools/text/vocabulary.h"

namespace graphrun {

// The vocabularies of all fields: read from files where the job gives them, otherwise built from the training files, the job's
// special entries and the words that feeds join. If `examples` is not null and the training files are read, it receives their
// examples, which saves a second read. Every column or key of the job must then exist; errors in fields without a vocabulary
// are reported when the examples are taken. Throws UserError: (kBadData) for any other error
// in a file; (kNoRoom, E0502) if examples that are too large for memory do not fit on the disk.
Vocabularies build_vocabularies(const DataSpec& data, const FeedPlan& plan, std::optional<ReadExamples>* examples = nullptr);

// Sets how text is made from the field's entries.
void set_text_form(const DataSpec& data, const FieldSpec& field, Vocabulary& vocabulary);

}  // namespace graphrun
