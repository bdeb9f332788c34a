// A graph's file, taken apart: its fields, the graphs inside it, and every place where an expression reads a name whose type is
// known.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "tests/mutants/known_types.h"
#include "tests/mutants/tokens.h"

namespace graphrun::mutants {

// A token of an expression.
struct Place {
  std::size_t string = 0;  // the token of the file that is the expression's string
  std::size_t at = 0;      // among the tokens inside it
};

struct Site : Place {
  std::string name;
  const ir::TensorType* type = nullptr;
  std::size_t scope = 0;          // of GraphText::scope()
  std::set<std::string> defines;  // what the expression gives a value to, or helps to; of a state and an output nothing
};

// A field, and where it stands.
struct Part : Field {
  std::size_t scope = 0;
  std::size_t parent = kNoPart;  // the message that it is in
  static constexpr std::size_t kNoPart = static_cast<std::size_t>(-1);
};

class GraphText {
 public:
  GraphText(const std::string& text, const KnownTypes& types);

  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<Site>& sites() const { return sites_; }
  Tokens& inside(std::size_t string) { return inside_[string]; }
  const Token& token(std::size_t at) const { return tokens_[at]; }
  // The numbers of the parts that are of these names and stand in a graph itself, the file's or one inside it.
  std::vector<std::size_t> parts_of(const std::set<std::string>& names) const;
  // The text of the field NAME in a message: "" where there is none.
  std::string text_of(std::size_t part, const std::string& name) const;
  // Strings that hold expressions.
  const std::vector<std::size_t>& expressions() const { return expressions_; }
  std::size_t scope_of(std::size_t string) const;

  // Names of known type that expressions of the scope may read, without those that are made from `without`.
  struct Name {
    std::string name;
    const ir::TensorType* type;
  };
  std::vector<Name> names(std::size_t scope, const std::set<std::string>& without) const;

  std::string text(std::size_t begin, std::size_t end) const;
  std::string text() const { return text(0, tokens_.size()); }
  std::string text_of(const Part& part) const { return text(part.begin, part.end); }
  // The file with lines put into a scope.
  std::string with_lines(std::size_t scope, const std::vector<std::string>& lines) const;
  std::string without(const Part& part) const;
  std::string with(const Part& part, const std::string& by) const;  // in its place

 private:
  void find_parts();
  void find_expressions();
  void find_sites(std::size_t string, const Part& part);
  bool depends(std::size_t scope, const std::string& name, const std::set<std::string>& on, std::set<std::string>& seen) const;

  const KnownTypes& types_;
  Tokens tokens_;
  std::vector<Tokens> inside_;  // of every token; of those that are no expressions, none
  std::vector<Part> parts_;
  std::vector<std::size_t> expressions_;
  std::vector<Site> sites_;
  std::map<std::pair<std::size_t, std::string>, std::set<std::string>> reads_;  // of a name in a scope
};

}  // namespace graphrun::mutants
