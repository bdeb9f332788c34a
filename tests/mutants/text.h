// Changes of .pbtxt files that know their structure: fields are dropped, doubled, moved and put in from other files, names and
// numbers become others, and so do the parts of the expressions in strings.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/draw.h"
#include "tests/mutants/tokens.h"

namespace graphrun::mutants {

// What texts of a kind are made of: changes put parts of one into another.
class TextParts {
 public:
  void add(const std::string& text);
  const std::vector<std::string>& texts() const { return texts_; }  // that were added
  std::string mutated(const std::string& text, tests::Draw& random) const;
  // Fields get the value of another of their name, and nothing else changes: what comes of it is often sound.
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
