// Text cut into the words that scores count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

enum class Tokenization : std::uint8_t {
  k13a,        // mteval-v13a, as sacreBLEU has it
  kNone,       // at white space
  kCharacter,  // code points
  kChinese,    // Chinese characters, and the rest as 13a
  kBytes,      // at ASCII white space, as multi-bleu.perl, which knows no Unicode
};

// "13a", "none", "char" or "zh", as sacreBLEU names them; nothing for anything else.
std::optional<Tokenization> parse_tokenization(std::string_view name);
std::string name_of(Tokenization tokenization);

std::vector<std::string> tokenize(std::string_view line, Tokenization tokenization);

// Unicode's full lower case: one character may become two, and a sigma at the end of a word is a final one. Python's
// lower(), and so sacreBLEU, does the same; utf8proc knows one code point at a time and gets both wrong.
std::string full_lower_case(std::string_view text);
// A to Z alone.
std::string ascii_lower_case(std::string_view text);

// Its words by white space in Python's sense, which counts four control characters.
std::vector<std::string_view> split_at_spaces(std::string_view text);

}  // namespace graphrun
