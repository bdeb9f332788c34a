// Splits protobuf text, and the expressions in its strings, into tokens that concatenate to the same text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphrun::mutants {

enum class TokenClass { kSpace, kComment, kWord, kNumber, kString, kPunctuation };
struct Token {
  TokenClass kind;
  std::string text;
};
using Tokens = std::vector<Token>;

// `expression`: the text inside a string, where # and quotes are not special.
Tokens tokens_of(std::string_view text, bool expression = false);
std::string joined(const Tokens& tokens);

// A field with its value, tokens [begin, end): NAME: VALUE or NAME { … }.
struct Field {
  std::string name;
  std::size_t begin, end;
};
std::vector<Field> fields_of(const Tokens& tokens);

}  // namespace graphrun::mutants
