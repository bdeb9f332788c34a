// What a search for words is asked for, and what it finds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace graphrun {

// In the words that a sentence is given: none, the search chooses.
constexpr std::int32_t kNoWord = -1;

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

// Words are drawn as the model holds them probable.
struct Sampling {
  double temperature = 1;  // scores are divided by it; towards 0 the best word alone is left
  std::int64_t top_k = 0;  // drawn from so many best; 0: from all
};

// The widest beam: positions among beam · (beam + 1) candidates are exact in float32 (tools/generate/search_graph.h).
inline constexpr std::int64_t kMostBeam = 4095;

// What holds for all sentences.
struct SearchOptions {
  std::int32_t begin = 0, end = 0;
  std::int64_t beam = 1;        // hypotheses of a sentence at a time; 1: greedy
  std::int64_t n_best = 1;      // at most beam; with `sampling` the number of samples
  std::int64_t min_length = 0;  // words before the end symbol, at least
  LengthNorm norm;
  // Instead of a search, `n_best` independent samples in the order of their draws. Beam and norm then choose nothing, the score
  // is the norm's. A sample's log-probability is the model's own, whatever the temperature.
  std::optional<Sampling> sampling;
  bool prefixes = false;  // whether sentences may be given a prefix
};

// The words of a row that a step of the search looks at, at most: a shortlist has as many where the vocabulary does.
inline std::int64_t most_candidates(const SearchOptions& options) { return options.beam + (options.min_length > 0 ? 1 : 0); }

// What each sentence of a batch is given besides its feeds.
struct Sentences {
  std::vector<std::int64_t> max_length;  // reached, a hypothesis ends without the end symbol
  // By sentence, or empty: what it begins with, however improbable, and however long. With the end symbol at its end it is all
  // of the sentence: forced decoding.
  std::vector<std::vector<std::int32_t>> prefix;
  std::vector<std::uint64_t> keys;  // with sampling: of its random numbers, the same key the same words

  // Words that the sentence is given.
  std::int64_t given(std::size_t sentence) const {
    return prefix.empty() ? 0 : static_cast<std::int64_t>(prefix[sentence].size());
  }
  // The most that it may have.
  std::int64_t most(std::size_t sentence) const { return std::max(max_length[sentence], given(sentence)); }
};

struct Hypothesis {
  std::vector<std::int32_t> words;  // without begin and end
  double log_probability = 0;
  double score = 0;   // log_probability, normalised by length
  bool ended = true;  // false: cut off at its greatest length
  // Where step t found the word that follows t words, the end symbol's step included: a row of what that step gave.
  std::vector<std::int64_t> rows;
};

}  // namespace graphrun
