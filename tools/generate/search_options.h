// The options of a search for words, and its results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace graphrun {

// In given words: no word is given here, and the search chooses one.
constexpr std::int32_t kNoWord = -1;

// The score of a hypothesis: its log-probability divided by a function of its length, which includes the end symbol (Wu et al.
// 2016, Eq. 14).
struct LengthNorm {
  enum class Kind : std::uint8_t {
    kNone,    // 1
    kLength,  // length
    kGnmt,    // ((5 + length) / 6) ^ alpha
  } kind = Kind::kNone;
  double alpha = 0.6;

  double score(double log_probability, std::int64_t length) const;
};

// Words are drawn with the model's probabilities.
struct Sampling {
  double temperature = 1;  // scores are divided by it; near 0, only the best word is drawn
  std::int64_t top_k = 0;  // draws from this many best words; 0: from all
};

// The widest beam: positions among beam · (beam + 1) candidates are exact in float32 (tools/generate/search_graph.h).
inline constexpr std::int64_t kMostBeam = 4095;

// Options for all sentences.
struct SearchOptions {
  std::int32_t begin = 0, end = 0;
  std::int64_t beam = 1;        // hypotheses of a sentence at a time; 1: greedy
  std::int64_t n_best = 1;      // at most beam; with `sampling`, the number of samples
  std::int64_t min_length = 0;  // the least number of words before the end symbol
  LengthNorm norm;
  // Draws `n_best` independent samples instead of searching. Beam and norm then have no influence on the choice, but the norm
  // determines the score. The log-probability of a sample is the model's, whatever the temperature.
  std::optional<Sampling> sampling;
  bool prefixes = false;  // whether sentences may be given a prefix
};

// The most words of a row that a step of the search looks at. A shortlist has at least as many, unless the vocabulary is
// smaller.
inline std::int64_t most_candidates(const SearchOptions& options) { return options.beam + (options.min_length > 0 ? 1 : 0); }

// What each sentence of a batch has in addition to its feeds.
struct Sentences {
  std::vector<std::int64_t> max_length;  // when reached, a hypothesis ends without the end symbol
  // By sentence, or empty: the words that it begins with, however improbable and however many. Only the last may be the end
  // symbol: they are then the whole sentence (forced decoding).
  std::vector<std::vector<std::int32_t>> prefix;
  std::vector<std::uint64_t> keys;  // with sampling: keys of random numbers; equal keys give equal words

  // The number of given words of a sentence.
  std::int64_t given(std::size_t sentence) const {
    return prefix.empty() ? 0 : static_cast<std::int64_t>(prefix[sentence].size());
  }
  // The most words that it may have.
  std::int64_t most(std::size_t sentence) const { return std::max(max_length[sentence], given(sentence)); }
};

struct Hypothesis {
  std::vector<std::int32_t> words;  // without begin and end symbols
  double log_probability = 0;
  double score = 0;   // log_probability, normalized by length
  bool ended = true;  // false: cut off at the maximum length
  // By step t, including that of the end symbol: the row in which the step found the word that follows t words.
  std::vector<std::int64_t> rows;
};

}  // namespace graphrun
