#include "compiler/frontend/sizes.h"

#include <cmath>

#include "compiler/frontend/instance.h"

namespace graphrun::frontend {

using ir::Expression;

Dim InstanceSizes::size(const Expression& e) {
  const Meaning m = instance_.evaluate(e, instance_.path() + "size");
  if (const Dim* d = m.dim()) return *d;
  if (const ir::Number* n = m.number()) {
    const bool is_bool = n->kind == ir::Number::Kind::kBool;
    if (!is_bool && n->value == std::floor(n->value) && n->value >= 0 && n->value <= 9e15)
      return Dim(static_cast<std::int64_t>(n->value));
    // An arg is given in one place, but may be used as a size in many.
    const Location given = instance_.written_at(e), used = instance_.at(e.at);
    std::vector<std::string> notes;
    if (given.str() != used.str()) notes.push_back("note: '" + e.dotted() + "' is a size at " + used.str());
    fail("E0309 bad-size", given,
         std::string("a size must be a whole number") + (is_bool ? "" : " from 0 to 9 * 10^15") + ", found " + m.describe(),
         std::move(notes));
  }
  fail("E0309 bad-size", instance_.at(e.at),
       "a size must be known when the batch is: a number or an expression of sizes, found " + m.describe());
}

Shape InstanceSizes::shape(const std::vector<Expression>& sizes) {
  Shape out;
  for (const Expression& e : sizes) out.push_back(size(e));
  return out;
}

void InstanceSizes::fit(const ir::TensorType& type, const std::vector<Expression>& want, const std::string& what,
                        const Location& where, const std::vector<std::string>& notes) {
  const auto wanted = [&] {
    std::string s;
    for (const Expression& e : want)
      s += (s.empty() ? "" : ", ") + (e.kind == Expression::Kind::kName ? e.dotted() : std::string("…"));
    return "[" + s + "]";
  };
  if (type.shape.size() != want.size()) {
    fail("E0304 wrong-rank", instance_.at(where),
         what + " has " + std::to_string(type.shape.size()) + " axes, " + type.str() + "; expected " +
             std::to_string(want.size()) + ": " + wanted(),
         notes);
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Expression& e = want[i];
    if (e.kind == Expression::Kind::kName && e.path.size() == 1 && !instance_.constant(e.path[0])) {
      const auto [it, fresh] = symbols_.emplace(e.path[0], type.shape[i]);
      if (!fresh && it->second != type.shape[i]) {
        fail("E0301 shape-mismatch", instance_.at(where),
             what + ": " + e.path[0] + " is " + it->second.str() + " and " + type.shape[i].str() + "; found " + type.str() +
                 ", expected " + wanted(),
             notes);
      }
    } else if (const Dim d = size(e); d != type.shape[i]) {
      fail("E0301 shape-mismatch", instance_.at(where),
           what + ": axis " + std::to_string(i) + " is " + type.shape[i].str() + ", expected " + d.str() + "; found " +
               type.str() + ", expected " + wanted(),
           notes);
    }
  }
}

Meaning InstanceSizes::symbol(const std::string& name, const Location& where) {
  const auto known = [&] { return symbols_.find(name) != symbols_.end(); };
  const auto mentions = [&](const std::vector<Expression>& shape) {
    for (const Expression& e : shape) {
      if (e.is_name(name)) return true;
    }
    return false;
  };
  if (!known()) {
    for (const InputDef& i : instance_.definition().inputs) {
      if (!mentions(i.shape)) continue;
      if (instance_.is_root()) {
        symbols_.emplace(name, Dim(Symbol::named(name)));
      } else if (instance_.has_input(i.name)) {
        instance_.input(i.name);
      }
      if (known()) break;
    }
  }
  if (!known()) {
    for (std::size_t k = 0; k < instance_.definition().equations.size() && !known(); ++k) {
      for (const auto& t : instance_.definition().equations[k].targets) {
        if (t.sized && mentions(t.sizes)) instance_.equation(k, 0);
      }
    }
  }
  if (known()) return Meaning::size(symbols_.at(name));
  fail("E0230 unknown-size", instance_.at(where),
       "nothing determines the size '" + name + "' in graph '" + instance_.definition().name + "'",
       {"help: a size gets its number from the input or equation whose shape names it; the caller gives none"});
}

}  // namespace graphrun::frontend
