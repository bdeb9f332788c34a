// UTF-8 in data: checked when it is read, and split into code points if a field has characters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// The offset of the first byte that is not well-formed UTF-8 (this includes overlong forms and surrogates), or of a NUL;
// nullopt if all of it is text.
std::optional<std::size_t> first_bad_byte(std::string_view text);

// The code points of well-formed UTF-8, each as its bytes.
std::vector<std::string_view> code_points(std::string_view text);

// The number of code points of a text, and the text of the first `most` of them.
std::size_t count_code_points(std::string_view text);
std::string_view first_code_points(std::string_view text, std::size_t most);
// As many code points as fit into the first `most` bytes.
std::string_view within_bytes(std::string_view text, std::size_t most);

// Whether it is white space between words: ASCII white space, no-break and ideographic space, and Unicode's other separators.
bool is_space(std::string_view code_point);

// Unicode normal forms of well-formed UTF-8: NFC, NFKC.
std::string nfc(std::string_view text);
std::string nfkc(std::string_view text);

// Every code point in its lower case.
std::string lower_case(std::string_view text);
// Well-formed UTF-8 in Unicode's full lower case, as Python's lower() and therefore sacreBLEU compute it. It differs for two
// characters: a sigma at the end of a word becomes a final sigma, and U+0130, the I with a dot, becomes an i and a combining
// dot.
std::string full_lower_case(std::string_view text);

}  // namespace graphrun
