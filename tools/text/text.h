// Splits text into words and characters.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// Whether there is only white space.
bool is_blank(std::string_view text);

// Visits the words of a text, separated by white space, with the number of their code points.
void each_word(std::string_view text, const std::function<void(std::string_view word, std::size_t points)>& visit);
std::vector<std::string> words_of(std::string_view text);

// The number that the whole text is, with or without a sign: "-0.5", "+3", "1e-3", ".5", "inf". Numbers too small for a double
// become 0, those too large infinite, with `beyond`; nullopt if the text is no number.
struct ParsedNumber {
  double value = 0;
  bool beyond = false;
};
std::optional<ParsedNumber> parse_number(std::string_view text);

std::vector<std::string> characters_of(std::string_view text, bool keep_spaces);

}  // namespace graphrun
