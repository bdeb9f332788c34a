// The texts of expressions, with the location of every character, and their tokens.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace graphrun::ir {

// A text and the location of each of its characters in a file. A string in a .pbtxt may consist of several literals and contain
// escapes; each piece maps a run of characters to one line.
struct SourceText {
  struct Piece {
    std::size_t offset;  // offset in `text` of its first character
    int line, column;    // of that character
  };
  std::string text;
  const std::string* file = nullptr;
  std::vector<Piece> pieces;  // by offset; empty: unknown location
  const Location* via = nullptr;

  SourceText() = default;
  explicit SourceText(std::string text) : text(std::move(text)) {}
  Location at(std::size_t offset, std::size_t length = 1) const;
  SourceText part(std::size_t begin, std::size_t end) const;  // [begin, end)
};

// Throws UserError (kInvalidGraph) with one diagnostic about a part of the text.
[[noreturn]] void fail_in(const SourceText& source, std::size_t offset, std::size_t length, std::string code, std::string text,
                          std::vector<std::string> notes = {});

// The most tokens of one expression: a chain of operators makes an equally deep tree.
inline constexpr std::size_t kLongestExpression = 4000;

struct Token {
  enum class Kind { kNumber, kWord, kName, kGraph, kSymbol, kEnd } kind = Kind::kEnd;
  std::string text;
  double number = 0;
  bool integral = false;
  std::size_t offset = 0, length = 0;
};

// The tokens of a text, the last of kind kEnd; of a text with more than kLongestExpression, one more than those. Throws
// UserError (kInvalidGraph, E0101 to E0103).
std::vector<Token> tokens_of(const SourceText& text);

}  // namespace graphrun::ir
