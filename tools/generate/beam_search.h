// Beam search: which words to continue with. It knows neither networks nor tensors; something that it asks for the best words
// of each row does (StepModel).
#pragma once

#include <cstdint>
#include <vector>

namespace graphrun {

// One row's best words, best first, and their log-probabilities.
struct Candidates {
  std::int64_t count = 0;           // of each row
  std::vector<std::int32_t> words;  // [rows, count]
  std::vector<double> scores;       // [rows, count]
  std::vector<double> asked;        // [rows]: of the words that the rows ask for
};

constexpr std::int32_t kNoWord = -1;

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

// What a hypothesis is worth: its log-probability over a function of its length, the end symbol counted (Wu et al. 2016, Eq.
// 14).
struct LengthNorm {
  enum class Kind : std::uint8_t {
    kNone,    // 1
    kLength,  // length
    kGnmt,    // ((5 + length) / 6) ^ alpha
  } kind = Kind::kNone;
  double alpha = 0.6;

  double score(double log_probability, std::int64_t length) const;
};

struct SearchOptions {
  std::int32_t begin = 0, end = 0;
  std::int64_t beam = 1;                 // hypotheses of a sentence at a time; 1: greedy
  std::int64_t n_best = 1;               // at most beam
  std::int64_t min_length = 0;           // words before the end symbol, at least
  std::vector<std::int64_t> max_length;  // by sentence; reached, a hypothesis ends without the end symbol
  // By sentence, or empty: what it begins with, however improbable, and however long. With the end symbol at its end it is all
  // of the sentence: forced decoding.
  std::vector<std::vector<std::int32_t>> prefix;
  LengthNorm norm;
};

struct Hypothesis {
  std::vector<std::int32_t> words;  // without begin and end
  double log_probability = 0;
  double score = 0;   // log_probability, normalised by length
  bool ended = true;  // false: cut off at its greatest length
  // Where step t found the word that follows t words, the end symbol's step included: a row of what that step gave.
  std::vector<std::int64_t> rows;
};

// Words that a sentence is given, by how many it has already.
class Given {
 public:
  Given(const SearchOptions& options, std::int64_t sentence)
      : words_(options.prefix.empty() ? nullptr : &options.prefix.at(static_cast<std::size_t>(sentence))) {}
  std::int64_t length() const { return words_ == nullptr ? 0 : static_cast<std::int64_t>(words_->size()); }
  std::int32_t at(std::int64_t t) const { return t < length() ? (*words_)[static_cast<std::size_t>(t)] : kNoWord; }

 private:
  const std::vector<std::int32_t>* words_;
};

// The n best of each sentence, best first; fewer where fewer end. A sentence leaves the batch when no hypothesis of it can
// still come among the n best; what it gives does not depend on the other sentences. Equal scores: the earlier row, then the
// model's order, comes first.
std::vector<std::vector<Hypothesis>> beam_search(StepModel& model, std::int64_t sentences, const SearchOptions& options);

}  // namespace graphrun
