// The vocabularies of a job's fields.
#pragma once

#include <optional>

#include "tools/data/dataset_reader.h"
#include "tools/data/feed_plan.h"
#include "tools/data/spec.h"
#include "tools/text/vocabulary.h"

namespace graphrun {

// The vocabularies of all fields: given ones read, the others built from the training files, with the special entries of the
// job and the words that feeds write. Where the training files are read for them, `examples`, unless it is null, takes what
// they hold, so that nobody has to read them again: every column or key of the job must be there then, and what is wrong in the
// fields that have no part in the vocabularies is told when the examples are taken. Throws UserError: (kBadData) for anything
// else that is wrong with a file; (kNoRoom, E0502) where examples that are too large for memory have no room on the disk.
Vocabularies build_vocabularies(const DataSpec& data, const FeedPlan& plan, std::optional<ReadExamples>* examples = nullptr);

// Says how text is made of the field's entries.
void set_text_form(const DataSpec& data, const FieldSpec& field, Vocabulary& vocabulary);

}  // namespace graphrun
