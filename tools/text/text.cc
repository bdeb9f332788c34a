#include "tools/text/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "tools/text/utf8.h"

namespace graphrun {

std::optional<ParsedNumber> parse_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  ParsedNumber number;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number.value);
  if (error == std::errc::invalid_argument || end != last) return std::nullopt;
  if (error == std::errc::result_out_of_range) {  // from_chars does not say on which side
    number.value = std::strtod(std::string(text).c_str(), nullptr);
    number.beyond = !std::isfinite(number.value);
  }
  return number;
}

bool is_blank(std::string_view text) {
  const auto points = code_points(text);
  return std::all_of(points.begin(), points.end(), is_space);
}

void each_word(std::string_view text, const std::function<void(std::string_view word, std::size_t points)>& visit) {
  const char* begin = nullptr;
  const char* end = nullptr;
  std::size_t points = 0;
  const auto close = [&] {
    if (points > 0) visit(std::string_view(begin, static_cast<std::size_t>(end - begin)), points);
    points = 0;
  };
  for (const std::string_view point : code_points(text)) {
    if (is_space(point)) {
      close();
      continue;
    }
    if (points++ == 0) begin = point.data();
    end = point.data() + point.size();
  }
  close();
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  each_word(text, [&](std::string_view word, std::size_t) { words.emplace_back(word); });
  return words;
}

std::vector<std::string> characters_of(std::string_view text, bool keep_spaces) {
  std::vector<std::string> characters;
  for (const std::string_view point : code_points(text))
    if (keep_spaces || !is_space(point)) characters.emplace_back(point);
  return characters;
}

}  // namespace graphrun
