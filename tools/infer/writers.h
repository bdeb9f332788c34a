// What inference writes: text out of a model's numbers. Pure functions; every line ends with LF.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor/tensor.h"
#include "tools/data/inference_reader.h"
#include "tools/data/records.h"
#include "tools/text/vocabulary.h"

namespace graphrun {

// The text that the entries are of, see TextForm.
std::string text_line(std::span<const std::int32_t> numbers, const Vocabulary& vocabulary);

// The sentence's lines as read, each with one column more, and the blank line where one ended it.
std::string conll_lines(const Record& sentence, std::span<const std::int32_t> numbers, const Vocabulary& vocabulary);

// The line with one space between its words, whose characters (white space left out) have the places B, M, E, S. White space
// that stood in the line separates words too.
std::string segmented_line(std::string_view line, std::string_view places);

// The numbers, separated by spaces, each as the shortest text that reads back to the same float.
std::string numbers_line(std::span<const double> numbers);

enum class WriteAs : std::uint8_t { kText, kConll, kSegmented, kNumbers, kMatrix, kJson };
inline bool writes_numbers(WriteAs write) { return write == WriteAs::kNumbers || write == WriteAs::kMatrix; }

// How much of a tensor is of each row of a batch: by axis but the batch's, by row; an empty one: all of the axis. An axis that
// is absent: the row's steps of the first, all of others.
using RowSizes = std::vector<std::vector<std::int64_t>>;

// What is written of each record of a batch, in their order. `from`: [time, batch], for kText and kNumbers [batch] too, for
// kMatrix [rows, columns, batch]; INT32 but for kNumbers and kMatrix. A matrix is a line for each of its rows and a blank one.
// An empty record gives an empty line. `vocabulary`: of the numbers; unused where numbers are written.
// As JSON instead (`json`) each record is an object: "values", nested by the axes, a number where there are none, of any sizes;
// or, where entries are written, "tokens", and "text" as it would be written.
// Throws UserError (kInvalidGraph, E0417) where `from` does not fit.
std::vector<std::string> record_texts(const InferenceBatch& batch, const Tensor& from, WriteAs write,
                                      const Vocabulary* vocabulary, const RowSizes& sizes = {}, bool json = false);

}  // namespace graphrun
