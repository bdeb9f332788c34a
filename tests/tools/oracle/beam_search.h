// Beam search on the host, in plain loops and doubles: the reference for the search of generation
// (tools/generate/graph_search.h). It knows neither networks nor tensors: a StepModel provides the best words of each row.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/generate/search_options.h"

namespace graphrun {

// The best words of each row, best first, and their log-probabilities.
struct Candidates {
  std::int64_t count = 0;           // of each row
  std::vector<std::int32_t> words;  // [rows, count]
  std::vector<double> scores;       // [rows, count]
  std::vector<double> asked;        // [rows]: the scores of the words that the rows request
};

// A row extends row `parent` of the previous step by `word`, in the sentence `sentence`. If the next word is given, the row
// requests the log-probability of that word, whether or not it is among the best.
struct Row {
  std::int64_t parent = 0;
  std::int32_t word = 0;
  std::int64_t sentence = 0;
  std::int32_t asked = kNoWord;
};

class StepModel {
 public:
  virtual ~StepModel() = default;
  // The best `count` words after each of the rows, or all words if there are fewer. In the first call, the parent of each row
  // is the number of its sentence, and its word is the begin symbol; a sentence whose greatest length is 0 has no row.
  virtual Candidates step(const std::vector<Row>& rows, std::int64_t count) = 0;
};

// The input of a search.
struct SearchCase : SearchOptions, Sentences {};

// The given words of a sentence, by position.
class Given {
 public:
  Given(const SearchCase& options, std::int64_t sentence)
      : words_(options.prefix.empty() ? nullptr : &options.prefix.at(static_cast<std::size_t>(sentence))) {}
  std::int64_t length() const { return words_ == nullptr ? 0 : static_cast<std::int64_t>(words_->size()); }
  std::int32_t at(std::int64_t t) const { return t < length() ? (*words_)[static_cast<std::size_t>(t)] : kNoWord; }

 private:
  const std::vector<std::int32_t>* words_;
};

// The n best hypotheses of each sentence, best first; fewer if fewer end. A sentence leaves the batch when none of its live
// hypotheses can become one of the n best; its result does not depend on the other sentences. Ties: the earlier row comes
// first, then the model's order.
std::vector<std::vector<Hypothesis>> beam_search(StepModel& model, std::int64_t sentences, const SearchCase& options);

}  // namespace graphrun
