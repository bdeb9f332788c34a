// Names for the text of generated kernels, made of the names that values have in a graph.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace graphrun {

// A value's own name for people: letters, digits and underscores, as `identifier` makes it, but possibly a word of C++.
std::string short_name(std::string_view value);
// A value's own name as C has it, without the path of the instances around it: "encode.forward.p.1" is p_1, and the gradient
// "d.encode.forward.p" is d_p, a state before a step, "encode.h.before", is h_before. Never a word of C++, nor one that headers
// of the standard library define as a macro.
std::string identifier(std::string_view value);

// Names of one scope, each once.
class Identifiers {
 public:
  // The identifier of a value, or that with a number where it is taken.
  std::string of(std::string_view value) { return take(identifier(value)); }
  // A name of the generator's own: the same, but for a number where it is taken.
  std::string take(std::string name);
  bool has(std::string_view name) const { return taken_.find(name) != taken_.end(); }

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace graphrun
