// Structured mutations of .pbtxt files: drop, duplicate and move fields, insert fields from other files, and replace names and
// numbers, also in the expressions in strings.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/draw.h"
#include "tests/mutants/tokens.h"

namespace graphrun::mutants {

// The parts of all texts of a kind: mutations insert parts of one into another.
class TextParts {
 public:
  void add(const std::string& text);
  const std::vector<std::string>& texts() const { return texts_; }  // those added
  std::string mutated(const std::string& text, tests::Draw& random) const;
  // Replaces the values of fields by those of fields with the same name, and changes nothing else: the result is often valid.
  std::string exchanged(const std::string& text, tests::Draw& random) const;

 private:
  void change(Tokens& tokens, tests::Draw& random) const;
  bool change_fields(Tokens& tokens, tests::Draw& random) const;
  void change_token(Tokens& tokens, std::size_t at, bool expression, tests::Draw& random) const;
  std::string other_of(TokenClass kind, bool expression, tests::Draw& random) const;

  std::vector<std::string> texts_;
  std::vector<std::string> field_names_;
  std::map<std::string, std::vector<Tokens>> fields_;  // by name
  std::vector<std::string> words_, strings_, expression_words_;
};

}  // namespace graphrun::mutants
