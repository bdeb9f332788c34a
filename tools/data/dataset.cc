#include "tools/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace graphrun {
std::int64_t numbers_in_memory() {
  const char* const said = std::getenv("GRAPHRUN_DATA_MEMORY");
  if (said == nullptr || *said == '\0') return kNumbersInMemory;
  const std::string_view text = said;
  std::int64_t bytes = -1;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), bytes);
  if (error != std::errc() || end != text.end() || bytes < 0) {
    throw UserError(
        ExitCode::kUsage, "E0429 bad-options", fmt::format("GRAPHRUN_DATA_MEMORY is '{}'; expected a number of bytes", text),
        {"help: the number of bytes of a data set that stay in memory; a larger one goes to a file; default: 536870912"});
  }
  return bytes / static_cast<std::int64_t>(sizeof(std::int32_t));
}

Dataset::Dataset(const DataSpec& data, std::int64_t in_memory) : counts_(data.fields.size()) {
  std::int64_t stores = 0;
  for (const FieldSpec& field : data.fields) stores += field_depth(data, field) == kDeepest ? 2 : 1;
  const std::int64_t each = in_memory / std::max<std::int64_t>(stores, 1);
  columns_.reserve(data.fields.size());
  for (const FieldSpec& field : data.fields) {
    columns_.push_back({field_depth(data, field), NumberStore(each), NumberStore(each), {0}, {0}});
  }
}

std::int64_t Dataset::dropped() const {
  std::int64_t dropped = 0;
  for (const FieldCounts& counts : counts_) dropped += counts.too_long;
  return dropped;
}

bool Dataset::on_disk() const {
  return std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return column.values.on_disk(); });
}

void Dataset::add(const std::vector<Nested>& fields) {
  ++size_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    column.values.append(fields[i].values);
    column.value_begin.push_back(column.values.size());
    counts_[i].longest = std::max(counts_[i].longest, fields[i].steps());
    if (column.depth < kDeepest) continue;
    column.lengths.append(fields[i].lengths);
    column.length_begin.push_back(column.lengths.size());
  }
}

void Dataset::extend(const std::vector<Nested>& fields) {
  if (size_ == 0) return add(fields);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    column.values.append(fields[i].values);
    column.value_begin.back() = column.values.size();
    counts_[i].longest = column.values.size();
  }
}

void Dataset::count_entries(std::size_t field, std::int64_t entries, std::int64_t unknown) {
  counts_[field].entries += entries;
  counts_[field].unknown += unknown;
}

void Dataset::count_numbers(std::size_t field, std::span<const std::int32_t> bits) {
  FieldCounts& counts = counts_[field];
  for (const std::int32_t kept : bits) {
    const float number = float_of(kept);
    counts.least = counts.entries == 0 ? number : std::min(counts.least, number);
    counts.greatest = counts.entries == 0 ? number : std::max(counts.greatest, number);
    ++counts.entries;
  }
}

void Dataset::renumber(std::size_t field, std::span<const std::int32_t> to) { columns_[field].values.renumber(to); }

void Dataset::close() {
  for (Column& column : columns_) {
    column.values.close();
    column.lengths.close();
  }
}

std::span<const std::int32_t> Dataset::values(std::size_t field, std::int64_t i) const {
  const Column& column = columns_[field];
  const std::size_t at = static_cast<std::size_t>(i);
  return column.values.read(column.value_begin[at], column.value_begin[at + 1]);
}

std::vector<Nested> Dataset::example(std::int64_t i) const {
  std::vector<Nested> fields;
  fields.reserve(columns_.size());
  const std::size_t at = static_cast<std::size_t>(i);
  for (std::size_t field = 0; field < columns_.size(); ++field) {
    const Column& column = columns_[field];
    Nested value;
    value.depth = column.depth;
    const auto numbers = values(field, i);
    value.values.assign(numbers.begin(), numbers.end());
    if (column.depth == kDeepest) {
      const auto lengths = column.lengths.read(column.length_begin[at], column.length_begin[at + 1]);
      value.lengths.assign(lengths.begin(), lengths.end());
    }
    fields.push_back(std::move(value));
  }
  return fields;
}

const std::string& Dataset::text(const std::string& field, std::int64_t i) const {
  const auto texts = texts_.find(field);
  GRAPHRUN_CHECK(texts != texts_.end(), "Dataset::text: none was kept of field " + field);
  return texts->second[static_cast<std::size_t>(i)];
}

std::int64_t Dataset::steps(std::size_t field, std::int64_t i) const {
  const Column& column = columns_[field];
  const std::size_t at = static_cast<std::size_t>(i);
  if (column.depth == 0) return 1;
  const auto& begin = column.depth == 1 ? column.value_begin : column.length_begin;
  return begin[at + 1] - begin[at];
}

}  // namespace graphrun
