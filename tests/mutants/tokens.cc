#include "tests/mutants/tokens.h"

#include <algorithm>
#include <cctype>

namespace graphrun::mutants {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_in_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;
    }
  }
  return std::min(at, text.size());
}

// The next token after `at` that is neither a space nor a comment.
std::size_t next_solid(const Tokens& tokens, std::size_t at) {
  for (++at; at < tokens.size(); ++at)
    if (tokens[at].kind != TokenClass::kSpace && tokens[at].kind != TokenClass::kComment) return at;
  return tokens.size();
}

// The position after the bracket that closes the one at `at`.
std::size_t end_of_brackets(const Tokens& tokens, std::size_t at) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    if (tokens[at].kind != TokenClass::kPunctuation) continue;
    const char c = tokens[at].text[0];
    if (c == '{' || c == '[' || c == '(') ++depth;
    if ((c == '}' || c == ']' || c == ')') && --depth == 0) return at + 1;
  }
  return tokens.size();
}

}  // namespace

Tokens tokens_of(std::string_view text, bool expression) {
  Tokens tokens;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    const char c = text[at];
    end = at + 1;
    TokenClass kind = TokenClass::kPunctuation;
    const auto take_while = [&](auto&& holds) {
      while (end < text.size() && holds(text[end])) ++end;
    };
    if (is_space(c)) {
      kind = TokenClass::kSpace;
      take_while(is_space);
    } else if (c == '#' && !expression) {
      kind = TokenClass::kComment;
      take_while([](char other) { return other != '\n'; });
    } else if ((c == '"' || c == '\'') && !expression) {
      kind = TokenClass::kString;
      end = end_of_string(text, at);
    } else if (is_letter(c)) {
      kind = TokenClass::kWord;
      take_while(is_in_word);
    } else if (is_digit(c)) {
      kind = TokenClass::kNumber;
      take_while(is_in_word);
    }
    tokens.push_back({kind, std::string(text.substr(at, end - at))});
  }
  return tokens;
}

std::string joined(const Tokens& tokens) {
  std::string text;
  for (const Token& token : tokens) text += token.text;
  return text;
}

std::vector<Field> fields_of(const Tokens& tokens) {
  std::vector<Field> fields;
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    if (tokens[at].kind != TokenClass::kWord) continue;
    std::size_t next = next_solid(tokens, at);
    if (next == tokens.size() || tokens[next].kind != TokenClass::kPunctuation) continue;
    std::size_t end = 0;
    if (tokens[next].text == ":") {
      next = next_solid(tokens, next);
      if (next == tokens.size()) continue;
      const bool list = tokens[next].text == "[" || tokens[next].text == "{";
      end = list ? end_of_brackets(tokens, next) : next + 1;
    } else if (tokens[next].text == "{") {
      end = end_of_brackets(tokens, next);
    } else {
      continue;
    }
    fields.push_back({tokens[at].text, at, end});
  }
  return fields;
}

}  // namespace graphrun::mutants
