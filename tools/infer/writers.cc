#include "tools/infer/writers.h"

#include <fmt/format.h>

#include "tools/data/utf8.h"

namespace graphrun {

std::string text_line(std::span<const std::int32_t> numbers, const Vocabulary& vocabulary) {
  return vocabulary.text_of(numbers) + '\n';
}

std::string conll_lines(const Record& sentence, std::span<const std::int32_t> numbers, const Vocabulary& vocabulary) {
  GRAPHRUN_CHECK(sentence.lines.size() == numbers.size(), "conll_lines: labels");
  std::string lines;
  for (std::size_t i = 0; i < numbers.size(); ++i) lines += sentence.lines[i] + '\t' + vocabulary.entry(numbers[i]) + '\n';
  if (sentence.closed) lines += '\n';
  return lines;
}

std::string segmented_line(std::string_view line, std::string_view places) {
  std::string words;
  std::size_t next = 0;
  bool cut = false;
  for (const std::string_view point : code_points(line)) {
    if (is_space(point)) {
      cut = true;
      continue;
    }
    GRAPHRUN_CHECK(next < places.size(), "segmented_line: places");
    const char place = places[next++];
    if (!words.empty() && (cut || place == 'B' || place == 'S')) words += ' ';
    words += point;
    cut = place == 'E' || place == 'S';
  }
  return words + '\n';
}

std::string numbers_line(std::span<const double> numbers) {
  std::string line;
  for (const double number : numbers) {
    if (!line.empty()) line += ' ';
    line += fmt::format("{}", static_cast<float>(number));
  }
  return line + '\n';
}

namespace {

// The elements of one row of [batch] or [time, batch].
template <class T, class At>
std::vector<T> row_of(const Tensor& tensor, std::int64_t row, std::int64_t steps, const At& at) {
  std::vector<T> elements;
  if (tensor.sizes().size() == 1) return {at(row)};
  for (std::int64_t t = 0; t < steps; ++t) elements.push_back(at(t * tensor.sizes()[1] + row));
  return elements;
}

std::string places_of(std::span<const std::int32_t> numbers, const Vocabulary& vocabulary) {
  std::string places;
  for (const std::int32_t number : numbers) places += vocabulary.entry(number).front();
  return places;
}

void check_fit(const Batch& batch, const Tensor& from, WriteAs write) {
  const Sizes& sizes = from.sizes();
  const bool one_each = sizes.size() == 1 && (write == WriteAs::kText || write == WriteAs::kNumbers);
  bool fits = (one_each || sizes.size() == 2) && sizes.back() == batch.rows;
  if (fits && sizes.size() == 2)
    for (const std::int64_t steps : batch.steps) fits = fits && steps <= sizes[0];
  if (write != WriteAs::kNumbers) fits = fits && from.dtype() == DType::kInt32;
  if (!fits)
    throw UserError(ExitCode::kInvalidGraph, "E0417 bad-infer",
                    fmt::format("what 'from' gives is {}{}; expected {}[time, batch]{} for {} rows", name_of(from.dtype()),
                                str(sizes), write == WriteAs::kNumbers ? "" : "int32",
                                write == WriteAs::kText || write == WriteAs::kNumbers ? " or [batch]" : "", batch.rows));
}

}  // namespace

std::string write_batch(const InferenceBatch& batch, const Tensor& from, WriteAs write, const Vocabulary* vocabulary) {
  if (batch.batch.rows > 0) check_fit(batch.batch, from, write);
  std::string text;
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    const Record& record = batch.records[i];
    const std::int64_t row = batch.rows[i];
    if (row < 0) {
      text += '\n';
      continue;
    }
    const std::int64_t steps = batch.batch.steps[static_cast<std::size_t>(row)];
    if (write == WriteAs::kNumbers) {
      text += numbers_line(row_of<double>(from, row, steps, [&](std::int64_t e) { return from.at(e); }));
      continue;
    }
    const auto numbers = row_of<std::int32_t>(from, row, steps, [&](std::int64_t e) { return from.data<std::int32_t>()[e]; });
    switch (write) {
      case WriteAs::kText: text += text_line(numbers, *vocabulary); break;
      case WriteAs::kConll: text += conll_lines(record, numbers, *vocabulary); break;
      case WriteAs::kSegmented: text += segmented_line(record.text(), places_of(numbers, *vocabulary)); break;
      case WriteAs::kNumbers:
      case WriteAs::kJson: break;
    }
  }
  return text;
}

}  // namespace graphrun
