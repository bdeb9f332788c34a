// UTF-8 as the data has it: checked when it is read, cut into code points where a field asks for characters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// The offset of the first byte that is not well-formed UTF-8 (overlong forms and surrogates included), or of a NUL; nothing
// where all of it is text.
std::optional<std::size_t> first_bad_byte(std::string_view text);

// The code points of well-formed UTF-8, each as its bytes.
std::vector<std::string_view> code_points(std::string_view text);

// White space between words: the ASCII ones, no-break and ideographic space, and Unicode's other separators.
bool is_space(std::string_view code_point);

// Unicode's normal forms of well-formed UTF-8: composed; of compatible characters too.
std::string nfc(std::string_view text);
std::string nfkc(std::string_view text);

// Every code point in its lower case.
std::string lower_case(std::string_view text);

}  // namespace graphrun
