// A data set in memory: every field of every example as numbers.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tools/data/feed_plan.h"
#include "tools/data/records.h"
#include "tools/data/spec.h"
#include "tools/data/vocabulary.h"

namespace graphrun {

class Dataset {
 public:
  explicit Dataset(const DataSpec& data);

  std::int64_t size() const { return size_; }
  std::int64_t dropped() const { return dropped_; }  // longer than a field's `longest`
  std::int64_t blank() const { return blank_; }      // examples without anything in them
  // The fields of an example, by the order of the job's; those that were not read are empty.
  std::vector<Nested> example(std::int64_t i) const;
  // Steps of one field of an example.
  std::int64_t steps(std::size_t field, std::int64_t i) const;

  void add(const std::vector<Nested>& fields);
  // STREAM: lengthens the one example.
  void extend(const std::vector<Nested>& fields);
  void count_dropped() { ++dropped_; }
  void count_blank() { ++blank_; }

 private:
  // Values end to end, with where each example begins.
  struct Column {
    int depth = 0;
    std::vector<std::int32_t> values, lengths;
    std::vector<std::int64_t> value_begin{0}, length_begin{0};
  };
  std::vector<Column> columns_;
  std::int64_t size_ = 0, dropped_ = 0, blank_ = 0;
};

// The vocabularies of all fields: given ones read, the others built from the training files, with the special entries of the
// job and the words that feeds write. Throws UserError (kBadData) for anything wrong with a file.
Vocabularies build_vocabularies(const DataSpec& data, const FeedPlan& plan);

// A record's field as numbers. Throws UserError (kBadData, E0644) for an entry that a closed vocabulary lacks.
Nested encode(const DataSpec& data, const FieldSpec& field, const Vocabulary& vocabulary, const Record& record,
              const std::string& file);

struct DatasetOptions {
  bool training = false;         // drop what is longer than `longest`
  std::set<std::string> fields;  // to read; empty: all
};
// Throws UserError (kBadData): as above; a set without any example (E0649).
Dataset read_dataset(const DataSpec& data, const Vocabularies& vocabularies, const std::vector<std::string>& files,
                     const DatasetOptions& options = {});

}  // namespace graphrun
