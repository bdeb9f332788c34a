// What formulas of reports are made of: numbers, values, and operations on them; and sums over many values.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/expression.h"
#include "tools/report/long_sum.h"
#include "tools/report/measure.h"

namespace graphrun {

// An operation on numbers, with the name of its op.
struct Operation {
  const char* name;
  std::size_t operands;
  double (*apply)(double, double);
};
const Operation* find_operation(const std::string& name);  // null if there is none

// Numbers, leaves (a value of the batch, or an accumulated sum) and operations on them.
struct FormulaTerm {
  double number = 0;
  std::optional<std::size_t> leaf;
  const Operation* operation = nullptr;
  std::vector<FormulaTerm> operands;

  template <class Leaf>
  double evaluate(const Leaf& value_of) const {
    if (leaf) return value_of(*leaf);
    if (!operation) return number;
    const double first = operands[0].evaluate(value_of);
    return operation->apply(first, operands.size() > 1 ? operands[1].evaluate(value_of) : 0);
  }
};

// The operation of an expression that is no name, without its operands. Throws UserError (kInvalidGraph, E0414).
FormulaTerm operation_term(const ir::Expression& e);

// The same with its operands, each made by `operand`.
template <class Operand>
FormulaTerm operation_term(const ir::Expression& e, const Operand& operand) {
  FormulaTerm term = operation_term(e);
  if (term.operation != nullptr) {
    for (const ir::Expression& o : e.operands) term.operands.push_back(operand(o));
  }
  return term;
}

// An elementwise expression over values of a batch. Appends the names that it reads to `names`, and their indices to `leaves`.
FormulaTerm element_term(const ir::Expression& e, std::vector<NameUse>& names, std::vector<std::size_t>& leaves);

// Sums over pairs of numbers, of which the second may be absent (0). They are exact enough to be subtracted, and plain sums, so
// that those of parts of a set can be added.
struct Moments {
  std::int64_t count = 0;
  LongSum x, y, xx, yy, xy;

  void add(double a, double b = 0);
  double mean() const { return x.value() / static_cast<double>(count); }
  double mean_of_second() const { return y.value() / static_cast<double>(count); }
  double deviation() const;    // the population's
  double correlation() const;  // Pearson's; NaN if one of them does not vary
  nlohmann::json state() const;
  void restore(const nlohmann::json& state);
};

}  // namespace graphrun
