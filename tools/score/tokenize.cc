#include "tools/score/tokenize.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tools/text/utf8.h"

namespace graphrun {
namespace {

constexpr std::array<std::pair<const char*, Tokenization>, 5> kNames = {{{"13a", Tokenization::k13a},
                                                                         {"none", Tokenization::kNone},
                                                                         {"char", Tokenization::kCharacter},
                                                                         {"zh", Tokenization::kChinese},
                                                                         {"bytes", Tokenization::kBytes}}};

bool counts_as_space(std::string_view point) {
  const bool separator = point.size() == 1 && point[0] >= '\x1c' && point[0] <= '\x1f';
  return separator || is_space(point);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

// Symbols that are always separate: ASCII symbols except apostrophe, comma, dash and period.
bool is_symbol(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

// The language-dependent part of mteval-v13a: four substitutions, each applied from left to right to the result of the previous
// one.
std::string space_out(const std::string& line) {
  std::string text;
  for (const char c : line) is_symbol(c) ? text.append({' ', c, ' '}) : text.append({c});
  // A period or comma is a separate word unless there are digits on both sides. Each match consumes both of its characters.
  std::string before;
  for (std::size_t i = 0; i < text.size(); ++i) {
    before += text[i];
    if (i + 1 < text.size() && !is_digit(text[i]) && is_stop(text[i + 1])) before.append({' ', text[++i], ' '});
  }
  std::string after;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (i + 1 < before.size() && is_stop(before[i]) && !is_digit(before[i + 1])) {
      after.append({' ', before[i], ' ', before[i + 1]});
      ++i;
    } else {
      after += before[i];
    }
  }
  std::string dashes;
  for (std::size_t i = 0; i < after.size(); ++i) {
    dashes += after[i];
    if (i + 1 < after.size() && is_digit(after[i]) && after[i + 1] == '-') dashes.append({' ', after[++i], ' '});
  }
  return dashes;
}

std::string in_13a(std::string_view line) {
  std::string text = replaced(std::string(line), "<skipped>", "");
  for (const auto& [entity, character] :
       {std::pair<const char*, const char*>{"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}})
    text = replaced(std::move(text), entity, character);
  return space_out(" " + text + " ");
}

char32_t code_of(std::string_view point) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(point[i]); };
  if (point.size() == 1) return byte(0);
  char32_t code = byte(0) & (0xFFu >> (point.size() + 1));
  for (std::size_t i = 1; i < point.size(); ++i) code = code << 6 | (byte(i) & 0x3Fu);
  return code;
}

// sacreBLEU's ranges. Two of them differ from what was intended, because it compares the strings "\u20000" with "\u2a6d6" and
// "\u2f800" with "\u2fa1d": they are U+2001 to U+2A6D and U+2F81 to U+2FA1.
bool is_chinese(char32_t c) {
  static constexpr std::array<std::pair<char32_t, char32_t>, 22> kRanges = {
      {{0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},
       {0x2001, 0x2A6D}, {0x2F81, 0x2FA1}, {0xFF00, 0xFFEF}, {0x2E80, 0x2EFF}, {0x3000, 0x303F}, {0x31C0, 0x31EF},
       {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F},
       {0x2600, 0x26FF}, {0x2700, 0x27BF}, {0x3200, 0x32FF}, {0x3300, 0x33FF}}};
  return std::any_of(kRanges.begin(), kRanges.end(), [&](const auto& range) { return c >= range.first && c <= range.second; });
}

std::string_view trimmed(std::string_view line) {
  const auto words = split_at_spaces(line);
  if (words.empty()) return {};
  return {words.front().data(), static_cast<std::size_t>(words.back().data() + words.back().size() - words.front().data())};
}

std::string in_chinese(std::string_view line) {
  std::string text;
  for (const std::string_view point : code_points(trimmed(line))) {
    const bool chinese = is_chinese(code_of(point));
    text.append(chinese ? " " : "").append(point).append(chinese ? " " : "");
  }
  return space_out(text);
}

std::vector<std::string> at_ascii_spaces(std::string_view line) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  std::vector<std::string> words;
  for (std::size_t begin = line.find_first_not_of(kSpaces); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kSpaces, begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kSpaces, end);
  }
  return words;
}

std::vector<std::string> owned(const std::vector<std::string_view>& words) { return {words.begin(), words.end()}; }

}  // namespace

std::optional<Tokenization> parse_tokenization(std::string_view name) {
  for (const auto& [known, tokenization] : kNames)
    if (name == known && tokenization != Tokenization::kBytes) return tokenization;
  return std::nullopt;
}

std::string name_of(Tokenization tokenization) {
  const auto known = std::find_if(kNames.begin(), kNames.end(), [&](const auto& k) { return k.second == tokenization; });
  return known->first;
}

std::vector<std::string_view> split_at_spaces(std::string_view text) {
  std::vector<std::string_view> words;
  const char* begin = nullptr;
  for (const std::string_view point : code_points(text)) {
    const bool space = counts_as_space(point);
    if (!space && begin == nullptr) begin = point.data();
    if (space && begin != nullptr) {
      words.emplace_back(begin, static_cast<std::size_t>(point.data() - begin));
      begin = nullptr;
    }
  }
  if (begin != nullptr) words.emplace_back(begin, static_cast<std::size_t>(text.data() + text.size() - begin));
  return words;
}

std::vector<std::string> tokenize(std::string_view line, Tokenization tokenization) {
  switch (tokenization) {
    case Tokenization::k13a: return owned(split_at_spaces(in_13a(line)));
    case Tokenization::kChinese: return owned(split_at_spaces(in_chinese(line)));
    case Tokenization::kNone: return owned(split_at_spaces(line));
    case Tokenization::kBytes: return at_ascii_spaces(line);
    case Tokenization::kCharacter: break;
  }
  std::vector<std::string> characters;
  for (const std::string_view point : code_points(line))
    if (!counts_as_space(point)) characters.emplace_back(point);
  return characters;
}

std::string ascii_lower_case(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lowered;
}

}  // namespace graphrun
