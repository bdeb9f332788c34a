// Expressions of the language: the right sides of equations, args, sizes and bindings, as trees with source locations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/tokens/tokens.h"
#include "runtime/base/status.h"

namespace graphrun::ir {

struct Keyword;
struct Subscript;

struct Expression {
  enum class Kind : std::uint8_t {
    kNumber,  // number, integral; true and false are kBool
    kBool,    // number: 0 or 1
    kWord,    // text: 'a string'
    kName,    // path: a.b.c
    kGraph,   // text: a path ending in .pbtxt; keywords: the args that it binds
    kList,    // operands
    kChoice,  // operands: condition, then, else
    kIndex,   // operands: the value; subscripts
    kCall,    // text: op; operands, keywords. Also infix and unary operators, under the names of their ops
  };
  Kind kind = Kind::kNumber;
  Location at;
  double number = 0;
  bool integral = false;
  bool infix = false;
  std::string text;
  std::vector<std::string> path;
  std::vector<Expression> operands;
  std::vector<Keyword> keywords;
  std::vector<Subscript> subscripts;

  bool is_name(std::string_view name) const { return kind == Kind::kName && path.size() == 1 && path[0] == name; }
  std::string dotted() const;  // of a name
};

// `name=value` in a call.
struct Keyword {
  std::string name;
  Expression value;
  Location at = {};  // of the name
};

// x[i] or x[i:j]; either end may be open.
struct Subscript {
  bool slice = false;
  std::optional<Expression> begin;  // the index, if it is not a slice
  std::optional<Expression> end;
};

// `name = expression`. Without `name =`, an expression that is a name binds its last part: `first.states` binds `states`.
struct Binding {
  std::string name;    // "cell", "layers.read"; empty: none
  bool named = false;  // written with `=`
  Location at;         // of the name, or of the expression
  Expression value;
  std::optional<Expression> by = {};  // of parse_grouped_bindings: `name = expression by expression`
};

// `a, b = expression` and `y[time, batch] = expression`.
struct Equation {
  struct Target {
    std::string name;
    Location at;
    bool sized = false;
    std::vector<Expression> sizes;
  };
  std::vector<Target> targets;
  Expression value;
};

// Each throws UserError (kInvalidGraph, E01xx) at the location of a syntax error. Nesting is limited.
Expression parse_expression(const SourceText& text);
std::vector<Binding> parse_bindings(const SourceText& text);
std::vector<Binding> parse_grouped_bindings(const SourceText& text);  // each may end with `by` and another expression
Equation parse_equation(const SourceText& text);
std::vector<Expression> parse_shape(const SourceText& text);  // "[time, batch, 2 * hidden]"

// Calls `visit` on every name in the expression, an expression of kind kName.
template <class F>
void for_each_name(const Expression& e, const F& visit) {
  if (e.kind == Expression::Kind::kName) visit(e);
  for (const Expression& o : e.operands) for_each_name(o, visit);
  for (const auto& [name, value, name_at] : e.keywords) for_each_name(value, visit);
  for (const Subscript& s : e.subscripts) {
    if (s.begin) for_each_name(*s.begin, visit);
    if (s.end) for_each_name(*s.end, visit);
  }
}

}  // namespace graphrun::ir
