// A graph's file, parsed: its fields, the graphs inside it, and every place where an expression reads a name of known type.
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
  std::size_t string = 0;  // the token of the file that is the string of the expression
  std::size_t at = 0;      // its index among the tokens of the string
};

struct Site : Place {
  std::string name;
  const ir::TensorType* type = nullptr;
  std::size_t scope = 0;          // of GraphText::scope()
  std::set<std::string> defines;  // the names that the expression defines or helps to define; empty for a state or an output
};

// A field, and its place.
struct Part : Field {
  std::size_t scope = 0;
  std::size_t parent = kNoPart;  // the message that contains it
  static constexpr std::size_t kNoPart = static_cast<std::size_t>(-1);
};

class GraphText {
 public:
  GraphText(const std::string& text, const KnownTypes& types);

  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<Site>& sites() const { return sites_; }
  Tokens& inside(std::size_t string) { return inside_[string]; }
  const Token& token(std::size_t at) const { return tokens_[at]; }
  // The parts with these names that are directly in a graph, the file's or one inside it.
  std::vector<std::size_t> parts_of(const std::set<std::string>& names) const;
  // The text of the field NAME in a message; "" if there is none.
  std::string text_of(std::size_t part, const std::string& name) const;
  // Strings that contain expressions.
  const std::vector<std::size_t>& expressions() const { return expressions_; }
  std::size_t scope_of(std::size_t string) const;

  // Names of known type that expressions in the scope may read, except those that depend on `without`.
  struct Name {
    std::string name;
    const ir::TensorType* type;
  };
  std::vector<Name> names(std::size_t scope, const std::set<std::string>& without) const;

  std::string text(std::size_t begin, std::size_t end) const;
  std::string text() const { return text(0, tokens_.size()); }
  std::string text_of(const Part& part) const { return text(part.begin, part.end); }
  // The file with lines inserted into a scope.
  std::string with_lines(std::size_t scope, const std::vector<std::string>& lines) const;
  std::string without(const Part& part) const;
  std::string with(const Part& part, const std::string& by) const;  // replacing it

 private:
  void find_parts();
  void find_expressions();
  void find_sites(std::size_t string, const Part& part);
  bool depends(std::size_t scope, const std::string& name, const std::set<std::string>& on, std::set<std::string>& seen) const;

  const KnownTypes& types_;
  Tokens tokens_;
  std::vector<Tokens> inside_;  // for every token; empty for tokens that are not expressions
  std::vector<Part> parts_;
  std::vector<std::size_t> expressions_;
  std::vector<Site> sites_;
  std::map<std::pair<std::size_t, std::string>, std::set<std::string>> reads_;  // what a name in a scope depends on
};

}  // namespace graphrun::mutants
