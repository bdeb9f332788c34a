// What is written of generated words. Pure functions; every line ends with LF.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/generate/search_options.h"
#include "tools/generate/step_values.h"
#include "tools/text/vocabulary.h"
#include "tools/text/word_spans.h"

namespace graphrun {

// Of one hypothesis: for each word, the end symbol left out, the weights of the input's units.
struct Alignment {
  std::vector<std::vector<float>> weights;
  std::vector<float> elsewhere = {};  // for each word the greatest weight of what follows the units, an end symbol say

  // For each word the unit with the greatest weight, the first of equal ones; -1: the input has no units.
  std::vector<std::int64_t> nearest() const;
  // The same, but -1 too where what follows the units has more: such a word is linked to nothing.
  std::vector<std::int64_t> links() const;
};

// The same of words, from that of the entries they consist of. Of the input: an entry's weight is shared equally by the words
// that it is part of, and those of a word are added up. Of what was made: the mean over a word's entries.
Alignment by_input_words(const Alignment& alignment, const WordSpans& input);
Alignment by_made_words(const Alignment& alignment, const WordSpans& made);

// A hypothesis as it is written.
struct Made {
  Hypothesis hypothesis;
  std::vector<std::string> words;                              // entries
  std::optional<std::vector<std::string>> aligned_words = {};  // what is aligned, where that is not `words`
  std::optional<Alignment> alignment;
  std::vector<std::string> units;                       // of the input, where it is aligned
  std::map<std::string, std::vector<Fetched>> fetched;  // by name: of each step, the end symbol's included
  std::map<std::string, Fetched> whole;                 // by name: what no word changes
};

// The words' entries. Where `replace` is one of them, it stands for the unit that the word is aligned to.
std::vector<std::string> words_of(const Hypothesis& hypothesis, const Vocabulary& vocabulary, const std::string& replace = "",
                                  const std::optional<Alignment>& alignment = {}, std::span<const std::string> units = {});

// Moses' and Pharaoh's links, "0-0 1-2": unit of the input, word; both count from 0.
std::string alignment_line(const Alignment& alignment);

// The best one's words.
std::string best_line(std::span<const Made> made, const Vocabulary& vocabulary);

// Moses' lines: "7 ||| words ||| LogProb= -3.5 ||| -0.7", the last the score that they are ordered by; with `links`, where
// there are any, "||| 0-0 1-2" at the end.
std::string n_best_lines(std::int64_t sentence, std::span<const Made> made, const Vocabulary& vocabulary, bool links);

// An object: "text" and "tokens" of the best, "score", "log_probability", "ended", "units" of the input and "alignment" (of
// each token their weights; of each of "words", where these are aligned) and what was fetched by name, an array over steps, or,
// where no word changes it, the value itself; "fetched.NAME" where the object has something else of that name. Several are in
// "alternatives", each such an object. Of nothing made: an empty text.
std::string json_line(std::span<const Made> made, const Vocabulary& vocabulary);

}  // namespace graphrun
