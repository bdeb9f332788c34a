// Splits text into the words that scores count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

enum class Tokenization : std::uint8_t {
  k13a,        // sacreBLEU's mteval-v13a
  kNone,       // at white space
  kCharacter,  // code points
  kChinese,    // Chinese characters, and the rest as 13a
  kBytes,      // at ASCII white space, like multi-bleu.perl
};

// "13a", "none", "char" or "zh", sacreBLEU's names; nullopt for any other.
std::optional<Tokenization> parse_tokenization(std::string_view name);
std::string name_of(Tokenization tokenization);

std::vector<std::string> tokenize(std::string_view line, Tokenization tokenization);

// Only A to Z in lower case.
std::string ascii_lower_case(std::string_view text);

// The words between white space as Python defines it, which includes four control characters.
std::vector<std::string_view> split_at_spaces(std::string_view text);

}  // namespace graphrun
