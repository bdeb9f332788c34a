#include "tools/infer/writers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/json/json.h"
#include "tools/text/utf8.h"

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

// FLOAT[3, 2], as graphs write it.
std::string type_text(const Tensor& tensor) { return std::string(name_of(type_of(tensor.dtype()))) + str(tensor.sizes()); }

void check_fit(const Batch& batch, const Tensor& from, WriteAs write, const RowSizes& real, bool json) {
  const Sizes& sizes = from.sizes();
  const auto refuse = [](std::string text) { throw UserError(ExitCode::kInvalidGraph, "E0417 bad-infer", std::move(text)); };
  const bool matrix = write == WriteAs::kMatrix, one_each = write == WriteAs::kText || write == WriteAs::kNumbers;
  bool fits =
      !sizes.empty() && sizes.back() == batch.rows && (sizes.size() == (matrix ? 3 : 2) || (one_each && sizes.size() == 1));
  if (json && writes_numbers(write)) fits = !sizes.empty() && sizes.back() == batch.rows;
  if (!writes_numbers(write)) fits = fits && from.dtype() == DType::kInt32;
  if (!fits)
    refuse(fmt::format("what 'from' gives is {}; expected {}{}{} for {} rows", type_text(from),
                       writes_numbers(write) ? "" : "INT32", matrix ? "[rows, columns, batch]" : "[time, batch]",
                       one_each ? " or [batch]" : "", batch.rows));
  for (std::size_t axis = 0; axis + 1 < sizes.size(); ++axis) {
    for (const std::int64_t size : real[axis]) {
      if (size > sizes[axis])
        refuse(fmt::format("what 'from' gives is {}, but an example has {} steps on axis {}", type_text(from), size, axis));
    }
  }
}

std::string matrix_lines(const Tensor& from, std::int64_t row, std::int64_t rows, std::int64_t columns) {
  std::string lines;
  std::vector<double> numbers(static_cast<std::size_t>(columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j)
      numbers[static_cast<std::size_t>(j)] = from.at((i * from.sizes()[1] + j) * from.sizes()[2] + row);
    lines += numbers_line(numbers);
  }
  return lines + '\n';
}

// `given`, completed for `from`.
RowSizes real_sizes(const Batch& batch, const Tensor& from, RowSizes given) {
  const std::size_t axes = from.sizes().empty() ? 0 : from.sizes().size() - 1;
  const bool absent = given.empty();
  given.resize(axes);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::vector<std::int64_t>& sizes = given[axis];
    if (absent && axis == 0) sizes = batch.steps;
    if (sizes.empty()) sizes.assign(static_cast<std::size_t>(batch.rows), from.sizes()[axis]);
  }
  return given;
}

using OrderedJson = nlohmann::ordered_json;

// A row's own part of [axes…, batch], nested by the axes. `at`: of the element so far.
OrderedJson row_values(const Tensor& from, const RowSizes& real, std::size_t row, std::size_t axis = 0, std::int64_t at = 0) {
  const std::int64_t size = from.sizes()[axis];
  if (axis + 1 == from.sizes().size()) {
    const double value = from.at(at * size + static_cast<std::int64_t>(row));
    return from.dtype() == DType::kInt32 ? OrderedJson(static_cast<std::int64_t>(value))
                                         : float_json(static_cast<float>(value));
  }
  OrderedJson list = OrderedJson::array();
  for (std::int64_t i = 0; i < real[axis][row]; ++i) list.push_back(row_values(from, real, row, axis + 1, at * size + i));
  return list;
}

// The JSON object of a row of entries. `text`: the same as plain text, with its line end.
std::string tokens_object(std::span<const std::int32_t> numbers, const Vocabulary* vocabulary, WriteAs write,
                          std::string text) {
  OrderedJson object = OrderedJson::object();
  if (write != WriteAs::kConll) {
    if (!text.empty()) text.pop_back();
    object["text"] = std::move(text);
  }
  object["tokens"] = OrderedJson::array();
  for (const std::int32_t number : numbers) object["tokens"].push_back(vocabulary->entry(number));
  return json_text(object) + '\n';
}

std::string empty_line(WriteAs write, bool json) {
  if (!json) return "\n";
  return writes_numbers(write) ? "{\"values\":[]}\n" : tokens_object({}, nullptr, write, "");
}

// `real`: see real_sizes.
std::string row_text(const Record& record, const Tensor& from, std::int64_t row, WriteAs write, const Vocabulary* vocabulary,
                     const RowSizes& real, bool json) {
  if (json && writes_numbers(write)) {
    return json_text(OrderedJson({{"values", row_values(from, real, static_cast<std::size_t>(row))}})) + '\n';
  }
  const auto size = [&](std::size_t axis) { return real.size() > axis ? real[axis][static_cast<std::size_t>(row)] : 1; };
  if (write == WriteAs::kMatrix) return matrix_lines(from, row, size(0), size(1));
  const std::int64_t steps = size(0);
  if (write == WriteAs::kNumbers) {
    return numbers_line(row_of<double>(from, row, steps, [&](std::int64_t e) { return from.at(e); }));
  }
  const auto numbers = row_of<std::int32_t>(from, row, steps, [&](std::int64_t e) { return from.data<std::int32_t>()[e]; });
  std::string lines;
  switch (write) {
    case WriteAs::kText: lines = text_line(numbers, *vocabulary); break;
    case WriteAs::kConll: lines = conll_lines(record, numbers, *vocabulary); break;
    case WriteAs::kSegmented: lines = segmented_line(record.text(), places_of(numbers, *vocabulary)); break;
    default: break;
  }
  return json ? tokens_object(numbers, vocabulary, write, std::move(lines)) : lines;
}

}  // namespace

std::vector<std::string> record_texts(const InferenceBatch& batch, const Tensor& from, WriteAs write,
                                      const Vocabulary* vocabulary, const RowSizes& sizes, bool json) {
  const RowSizes real = batch.batch.rows > 0 ? real_sizes(batch.batch, from, sizes) : RowSizes();
  if (batch.batch.rows > 0) check_fit(batch.batch, from, write, real, json);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    texts.push_back(batch.rows[i] < 0 ? empty_line(write, json)
                                      : row_text(batch.records[i], from, batch.rows[i], write, vocabulary, real, json));
  }
  return texts;
}

}  // namespace graphrun
