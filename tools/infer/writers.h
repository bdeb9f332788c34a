// Formats a model's numbers as text. Pure functions; every line ends with LF.
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

// The text of the entries; see TextForm.
std::string text_line(std::span<const std::int32_t> numbers, const Vocabulary& vocabulary);

// The lines of the sentence, each with one more column, and the blank line if one ended it.
std::string conll_lines(const Record& sentence, std::span<const std::int32_t> numbers, const Vocabulary& vocabulary);

// The line with one space between its words. `places` are the places B, M, E, S of its characters, without white space. White
// space in the line also separates words.
std::string segmented_line(std::string_view line, std::string_view places);

// The numbers, separated by spaces, each as the shortest text that reads back to the same float.
std::string numbers_line(std::span<const double> numbers);

enum class WriteAs : std::uint8_t { kText, kConll, kSegmented, kNumbers, kMatrix, kJson };
inline bool writes_numbers(WriteAs write) { return write == WriteAs::kNumbers || write == WriteAs::kMatrix; }

// The part of a tensor that belongs to each row of a batch: by axis except the batch axis, then by row; empty means the whole
// axis. For a missing axis: the row's steps if it is the first axis, otherwise the whole axis.
using RowSizes = std::vector<std::vector<std::int64_t>>;

// The text for each record of a batch, in order. `from`: [time, batch], for kText and kNumbers also [batch], for kMatrix [rows,
// columns, batch]; INT32 except for kNumbers and kMatrix. A matrix is written as one line per row and a blank line. An empty
// record gives an empty line. `vocabulary`: that of the numbers; unused if numbers are written. With `json`, each record is an
// object with "values", nested by the axes (a number if there are none), of any sizes; or, if entries are written, with
// "tokens" and with "text" as it would be written. Throws UserError (kInvalidGraph, E0417) if `from` does not fit.
std::vector<std::string> record_texts(const InferenceBatch& batch, const Tensor& from, WriteAs write,
                                      const Vocabulary* vocabulary, const RowSizes& sizes = {}, bool json = false);

}  // namespace graphrun
