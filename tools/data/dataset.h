// A data set: every field of every example as numbers.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tools/data/number_store.h"
#include "tools/data/spec.h"

namespace graphrun {

// Of a data set; what is larger lies in a file. GRAPHRUN_DATA_MEMORY in the environment says how many bytes they are; throws
// UserError (kUsage) where that is no number.
inline constexpr std::int64_t kNumbersInMemory = std::int64_t{1} << 27;
std::int64_t numbers_in_memory();

// What one field has in a set.
struct FieldCounts {
  std::int64_t entries = 0;       // or numbers
  float least = 0, greatest = 0;  // of numbers, where there are any
  std::int64_t unknown = 0;       // of them
  std::int64_t longest = 0;       // steps of an example
  std::int64_t too_long = 0;      // examples that were dropped for it, counted at the first field that they are too long for
};

// In memory there is an index, where each example begins; the numbers too while they are few (NumberStore). They are read as
// they stand, once: later changes of the files don't matter, and a compressed file is no slower at random than another.
class Dataset {
 public:
  explicit Dataset(const DataSpec& data, std::int64_t in_memory = kNumbersInMemory);

  std::int64_t size() const { return size_; }
  std::int64_t dropped() const;                  // longer than a field's `longest`
  std::int64_t blank() const { return blank_; }  // examples without anything in them
  const FieldCounts& counts(std::size_t field) const { return counts_[field]; }
  bool on_disk() const;
  // The fields of an example, by the order of the job's; those that were not read are empty.
  std::vector<Nested> example(std::int64_t i) const;
  // The numbers of one field of an example.
  std::span<const std::int32_t> values(std::size_t field, std::int64_t i) const;
  // The text of one field of an example, where it was kept (DatasetOptions::texts).
  const std::string& text(const std::string& field, std::int64_t i) const;
  // Steps of one field of an example.
  std::int64_t steps(std::size_t field, std::int64_t i) const;

  void add(const std::vector<Nested>& fields);
  void keep_text(const std::string& field, std::string text) { texts_[field].push_back(std::move(text)); }
  // STREAM: lengthens the one example.
  void extend(const std::vector<Nested>& fields);
  void count_entries(std::size_t field, std::int64_t entries, std::int64_t unknown);
  void count_numbers(std::size_t field, std::span<const std::int32_t> bits);
  void count_dropped(std::size_t field) { ++counts_[field].too_long; }
  void count_blank(std::int64_t examples = 1) { blank_ += examples; }
  // Every number n of a field's values becomes to[n], in place.
  void renumber(std::size_t field, std::span<const std::int32_t> to);
  // Nothing more is added. Before it nothing can be read.
  void close();

 private:
  // Values end to end, with where each example begins.
  struct Column {
    int depth = 0;
    NumberStore values, lengths;
    std::vector<std::int64_t> value_begin{0}, length_begin{0};
  };
  std::vector<Column> columns_;
  std::vector<FieldCounts> counts_;
  std::map<std::string, std::vector<std::string>> texts_;
  std::int64_t size_ = 0, blank_ = 0;
};

}  // namespace graphrun
