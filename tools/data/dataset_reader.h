// Reads files into a data set.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tools/data/dataset.h"
#include "tools/data/feed_plan.h"
#include "tools/data/records.h"
#include "tools/data/units.h"

namespace graphrun {

// A record's field as numbers. Throws UserError (kBadData): E0644 for an entry that a closed vocabulary lacks; what numbers_in
// throws.
Nested encode(const DataSpec& data, const FieldSpec& field, const Vocabularies& vocabularies, const Record& record);
// The same for given units. Only the position of the record is read.
Nested encode_units(const DataSpec& data, const FieldSpec& field, const Vocabulary& vocabulary, const Record& record,
                    const Units& units);

struct DatasetOptions {
  bool training = false;         // drop what is longer than `longest`
  std::set<std::string> fields;  // fields to read; empty: all
  std::int64_t in_memory = numbers_in_memory();
  std::set<std::string> texts;     // fields whose text is also kept, in memory
  Location at = {};                // where the files are named, for errors that concern all of them
  const FeedPlan* plan = nullptr;  // bound; every example must fit the needed feeds
};
// Throws UserError (kBadData): as above, and what FeedPlan::evaluate throws, with the record's location; E0649 for a set
// without examples; E0653 if PARALLEL files do not come in groups.
Dataset read_dataset(const DataSpec& data, const Vocabularies& vocabularies, const std::vector<std::string>& files,
                     const DatasetOptions& options = {});

// Examples of the training files that were read for vocabularies, before it was known which feeds a network needs.
class ReadExamples {
 public:
  // `set`: closed, with the examples at `places`. `mistake`: the error in the record after the last of them, which ended the
  // set; null if there is none.
  ReadExamples(Dataset set, RecordPlaces places, std::exception_ptr mistake)
      : set_(std::move(set)), places_(std::move(places)), mistake_(std::move(mistake)) {}

  // The set, after checking that its examples fit the needed feeds of `plan`, which is bound. Throws what read_dataset throws.
  Dataset take(const DataSpec& data, const FeedPlan& plan) &&;

 private:
  Dataset set_;
  RecordPlaces places_;
  std::exception_ptr mistake_;
};

// Parts of read_dataset, with which ReadExamples is made.

std::vector<const FieldSpec*> chosen_fields(const DataSpec& data, const std::function<bool(const FieldSpec&)>& chosen);
// Throws UserError (kBadData, E0649).
[[noreturn]] void no_examples(const Location& at, const std::vector<std::string>& files, const std::string& why = "");
// Adds an example. Returns false if it was dropped and counted, because it is training data and longer than a field's
// `longest`.
bool add_example(const DataSpec& data, bool training, const std::vector<Nested>& fields, Dataset& set);
// Closes a set and counts the contents of its fields.
void close_set(const DataSpec& data, const Vocabularies& vocabularies, Dataset& set);

}  // namespace graphrun
