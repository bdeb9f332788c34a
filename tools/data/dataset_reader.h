// Files read into a data set.
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

// A record's field as numbers. Throws UserError (kBadData): E0644 for an entry that a closed vocabulary lacks, what numbers_in
// throws.
Nested encode(const DataSpec& data, const FieldSpec& field, const Vocabularies& vocabularies, const Record& record);
// The same of its units. Of the record no more than its place is read.
Nested encode_units(const DataSpec& data, const FieldSpec& field, const Vocabulary& vocabulary, const Record& record,
                    const Units& units);

struct DatasetOptions {
  bool training = false;         // drop what is longer than `longest`
  std::set<std::string> fields;  // to read; empty: all
  std::int64_t in_memory = numbers_in_memory();
  std::set<std::string> texts;     // fields whose text is kept too, in memory
  Location at = {};                // where the files are named, for what is wrong with them as a whole
  const FeedPlan* plan = nullptr;  // bound; every example must fit the feeds that are needed of it
};
// Throws UserError (kBadData): as above, and what FeedPlan::evaluate throws, at the record's place; a set without any example
// (E0649); PARALLEL files that don't come in groups (E0653).
Dataset read_dataset(const DataSpec& data, const Vocabularies& vocabularies, const std::vector<std::string>& files,
                     const DatasetOptions& options = {});

// Examples of the training files that were read for their vocabularies, before it was known what a network needs of them.
class ReadExamples {
 public:
  // `set`: of examples at `places`, closed. `mistake`: of the record behind the last of them, which ended the set; null: none.
  ReadExamples(Dataset set, RecordPlaces places, std::exception_ptr mistake)
      : set_(std::move(set)), places_(std::move(places)), mistake_(std::move(mistake)) {}

  // The set, once its examples fit the feeds that are needed of `plan`, which is bound. Throws what read_dataset throws.
  Dataset take(const DataSpec& data, const FeedPlan& plan) &&;

 private:
  Dataset set_;
  RecordPlaces places_;
  std::exception_ptr mistake_;
};

// What ReadExamples is made with: parts of read_dataset.

std::vector<const FieldSpec*> chosen_fields(const DataSpec& data, const std::function<bool(const FieldSpec&)>& chosen);
// Throws UserError (kBadData, E0649).
[[noreturn]] void no_examples(const Location& at, const std::vector<std::string>& files, const std::string& why = "");
// Adds an example, unless it is training data and longer than a field's `longest`. False: it was dropped, and counted.
bool add_example(const DataSpec& data, bool training, const std::vector<Nested>& fields, Dataset& set);
// Ends a set and counts what its fields hold.
void close_set(const DataSpec& data, const Vocabularies& vocabularies, Dataset& set);

}  // namespace graphrun
