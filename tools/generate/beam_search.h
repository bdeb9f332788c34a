// Beam search: which words to go on with. It knows neither networks nor tensors; something that it asks for the best words of
// each row does (StepModel).
#pragma once

#include <cstdint>
#include <vector>

namespace graphrun {

// One row's best words, best first, and their log-probabilities.
struct Candidates {
  std::int64_t count = 0;           // of each row
  std::vector<std::int32_t> words;  // [rows, count]
  std::vector<double> scores;       // [rows, count]
};

// A row goes on from row `parent` of the step before by `word`, in the sentence `sentence`.
struct Row {
  std::int64_t parent = 0;
  std::int32_t word = 0;
  std::int64_t sentence = 0;
};

class StepModel {
 public:
  virtual ~StepModel() = default;
  // The best `count` words (fewer where there are fewer) after each of the rows. The first call has one row for each sentence
  // that may have words, with the sentence's number as parent and the begin symbol as word.
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

// The n best of each sentence, best first; fewer where fewer end. A sentence leaves the batch when no hypothesis of it can
// still come among the n best; what it gives does not depend on the other sentences. Equal scores: the earlier row, then the
// model's order, comes first.
std::vector<std::vector<Hypothesis>> beam_search(StepModel& model, std::int64_t sentences, const SearchOptions& options);

}  // namespace graphrun
