// Formats generated words. Pure functions; every line ends with LF.
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

// The alignment of a hypothesis: for each word, without the end symbol, the weights of the input's units.
struct Alignment {
  std::vector<std::vector<float>> weights;
  std::vector<float> elsewhere = {};  // for each word, the greatest weight after the units, such as that of an end symbol

  // For each word, the unit with the greatest weight, the first among equals; -1 if the input has no units.
  std::vector<std::int64_t> nearest() const;
  // The same, but also -1 if a position after the units has more weight: such a word has no link.
  std::vector<std::int64_t> links() const;
};

// Alignments of words from those of entries. For the input, the weight of an entry is divided equally among its words, and the
// weights of a word are summed. For the output, the mean over a word's entries.
Alignment by_input_words(const Alignment& alignment, const WordSpans& input);
Alignment by_made_words(const Alignment& alignment, const WordSpans& made);

// A hypothesis and what is written about it.
struct Made {
  Hypothesis hypothesis;
  std::vector<std::string> words;                              // entries
  std::optional<std::vector<std::string>> aligned_words = {};  // the aligned words, if they are not `words`
  std::optional<Alignment> alignment;
  std::vector<std::string> units;                       // units of the input, if it is aligned
  std::map<std::string, std::vector<Fetched>> fetched;  // by name: values of each step, including that of the end symbol
  std::map<std::string, Fetched> whole;                 // by name: values that no word changes
};

// The entries of the words. An entry `replace` is replaced by the unit that the word is aligned to.
std::vector<std::string> words_of(const Hypothesis& hypothesis, const Vocabulary& vocabulary, const std::string& replace = "",
                                  const std::optional<Alignment>& alignment = {}, std::span<const std::string> units = {});

// Links in the format of Moses and Pharaoh, "0-0 1-2": unit of the input, word; both count from 0.
std::string alignment_line(const Alignment& alignment);

// The words of the best hypothesis.
std::string best_line(std::span<const Made> made, const Vocabulary& vocabulary);

// Moses' n-best lines: "7 ||| words ||| LogProb= -3.5 ||| -0.7", where the last number is the score that orders them; with
// `links`, if there are any, followed by "||| 0-0 1-2".
std::string n_best_lines(std::int64_t sentence, std::span<const Made> made, const Vocabulary& vocabulary, bool links);

// A JSON object for the best hypothesis: "text", "tokens", "score", "log_probability" and "ended". If it is aligned, also
// "units", the units of the input, and "alignment", the weights of the units for each token; or, if words are aligned, for each
// of "words". Each fetched value is added under its name, or as "fetched.NAME" if the object has another entry of that name: an
// array over the steps, or the value itself if no word changes it. If there are several hypotheses, "alternatives" has such an
// object for each. Without a hypothesis, "text" and "tokens" are empty.
std::string json_line(std::span<const Made> made, const Vocabulary& vocabulary);

}  // namespace graphrun
