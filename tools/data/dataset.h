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

// The numbers of a data set that are kept in memory; a larger set is in a file. The environment variable GRAPHRUN_DATA_MEMORY
// sets the limit in bytes; throws UserError (kUsage) if that is not a number.
inline constexpr std::int64_t kNumbersInMemory = std::int64_t{1} << 27;
std::int64_t numbers_in_memory();

// Counts of one field in a set.
struct FieldCounts {
  std::int64_t entries = 0;       // entries or numbers
  float least = 0, greatest = 0;  // the range of numbers, if there are any
  std::int64_t unknown = 0;       // unknown entries
  std::int64_t longest = 0;       // steps of the longest example
  std::int64_t too_long = 0;      // examples dropped because this is the first field in which they are too long
};

// An index of where each example begins is in memory, and so are the numbers if they are few (NumberStore). Files are read
// once: later changes to them have no effect, and random access is as fast for compressed files.
class Dataset {
 public:
  explicit Dataset(const DataSpec& data, std::int64_t in_memory = kNumbersInMemory);

  std::int64_t size() const { return size_; }
  std::int64_t dropped() const;                  // examples longer than a field's `longest`
  std::int64_t blank() const { return blank_; }  // empty examples
  const FieldCounts& counts(std::size_t field) const { return counts_[field]; }
  bool on_disk() const;
  // The fields of an example, in the order of the job; fields that were not read are empty.
  std::vector<Nested> example(std::int64_t i) const;
  // The numbers of one field of an example.
  std::span<const std::int32_t> values(std::size_t field, std::int64_t i) const;
  // The text of one field of an example, if it was kept (DatasetOptions::texts).
  const std::string& text(const std::string& field, std::int64_t i) const;
  // The number of steps of one field of an example.
  std::int64_t steps(std::size_t field, std::int64_t i) const;

  void add(const std::vector<Nested>& fields);
  void keep_text(const std::string& field, std::string text) { texts_[field].push_back(std::move(text)); }
  // STREAM: extends the only example.
  void extend(const std::vector<Nested>& fields);
  void count_entries(std::size_t field, std::int64_t entries, std::int64_t unknown);
  void count_numbers(std::size_t field, std::span<const std::int32_t> bits);
  void count_dropped(std::size_t field) { ++counts_[field].too_long; }
  void count_blank(std::int64_t examples = 1) { blank_ += examples; }
  // Replaces every number n of a field's values by to[n].
  void renumber(std::size_t field, std::span<const std::int32_t> to);
  // Ends adding; required before reading.
  void close();

 private:
  // Concatenated values, and where each example begins.
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
