// Identifiers in the text of generated kernels, derived from the names of values in a graph.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace graphrun {

// A value's own name for people: letters, digits and underscores, as `identifier` makes it, but possibly a word of C++.
std::string short_name(std::string_view value);
// A value's own name as a C identifier, without the path of the enclosing instances: "encode.forward.p.1" becomes p_1, the
// gradient "d.encode.forward.p" becomes d_p, and the state before a step, "encode.h.before", becomes h_before. Never a keyword
// of C++ or a macro of the standard library.
std::string identifier(std::string_view value);

// The distinct names of one scope.
class Identifiers {
 public:
  // The identifier of a value, with a number appended if it is taken.
  std::string of(std::string_view value) { return take(identifier(value)); }
  // A name that the generator chose, with a number appended if it is taken.
  std::string take(std::string name);
  bool has(std::string_view name) const { return taken_.find(name) != taken_.end(); }

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace graphrun
