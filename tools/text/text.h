// Splits text into words and characters.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// Whether there is only white space.
bool is_blank(std::string_view text);

// Visits the words of a text, separated by white space, with the number of their code points.
void each_word(std::string_view text, const std::function<void(std::string_view word, std::size_t points)>& visit);
std::vector<std::string> words_of(std::string_view text);

std::vector<std::string> characters_of(std::string_view text, bool keep_spaces);

}  // namespace graphrun
