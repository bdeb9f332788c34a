// Beam search on the host, in plain loops and doubles: what the search of generation (tools/generate/graph_search.h) is
// compared with. It knows neither networks nor tensors; something that it asks for the best words of each row does (StepModel).
#pragma once

#include <cstdint>
#include <vector>

#include "tools/generate/search_options.h"

namespace graphrun {

// One row's best words, best first, and their log-probabilities.
struct Candidates {
  std::int64_t count = 0;           // of each row
  std::vector<std::int32_t> words;  // [rows, count]
  std::vector<double> scores;       // [rows, count]
  std::vector<double> asked;        // [rows]: of the words that the rows ask for
};

// A row extends row `parent` of the step before by `word`, in the sentence `sentence`. What is to come after it may be
// given: then the log-probability of that word is asked for, be it among the best or not.
struct Row {
  std::int64_t parent = 0;
  std::int32_t word = 0;
  std::int64_t sentence = 0;
  std::int32_t asked = kNoWord;
};

class StepModel {
 public:
  virtual ~StepModel() = default;
  // The best `count` words (fewer where there are fewer) after each of the rows. In the first call each row has the sentence's
  // number as parent and the begin symbol as word; a sentence that may have no words has none.
  virtual Candidates step(const std::vector<Row>& rows, std::int64_t count) = 0;
};

// All that a search is asked for.
struct SearchCase : SearchOptions, Sentences {};

// Words that a sentence is given, by how many it has already.
class Given {
 public:
  Given(const SearchCase& options, std::int64_t sentence)
      : words_(options.prefix.empty() ? nullptr : &options.prefix.at(static_cast<std::size_t>(sentence))) {}
  std::int64_t length() const { return words_ == nullptr ? 0 : static_cast<std::int64_t>(words_->size()); }
  std::int32_t at(std::int64_t t) const { return t < length() ? (*words_)[static_cast<std::size_t>(t)] : kNoWord; }

 private:
  const std::vector<std::int32_t>* words_;
};

// The n best of each sentence, best first; fewer where fewer end. A sentence leaves the batch when no hypothesis of it can
// still come among the n best; what it gives does not depend on the other sentences. Equal scores: the earlier row, then the
// model's order, comes first.
std::vector<std::vector<Hypothesis>> beam_search(StepModel& model, std::int64_t sentences, const SearchCase& options);

}  // namespace graphrun
