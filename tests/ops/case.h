// One use of an op, small enough to check by hand: operands, attributes and special properties. Each case is checked against a
// reference, its gradient against finite differences, and it is run on several threads, in place, and with padding.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
#include "runtime/tensor/tensor.h"

namespace graphrun::tests {

struct Case {
  std::string op;
  std::string name;            // what this case is about; unique for the op
  std::vector<Tensor> inputs;  // FLOAT ones in float64; an empty tensor is an absent optional input
  ir::NamedAttributes attributes;
  // Symbolic shapes of the inputs, such as "[time, batch, 3]"; if empty, their sizes as numbers. Symbols get their values from
  // the inputs' sizes.
  std::vector<std::string> shapes;
  std::set<std::size_t> zero_gradient;    // inputs whose gradient is zero everywhere
  std::set<std::size_t> not_differenced;  // inputs where the op has no derivative to compare with (an optimizer's)
  bool large = false;                     // for threads; too large for finite differences
  double tolerance32 = 2e-5;              // relative to the largest element, float32 against the reference
  double tolerance64 = 1e-12;

  Case();
  Case(const Case&);
  Case(Case&&) noexcept;
  Case& operator=(const Case&);
  ~Case();
  std::string full_name() const;
};

// Nothing here is inline: the lists of cases are long, and should compile quickly.
//
// Builds a Case with chained calls, in reading order.
class CaseBuilder {
 public:
  CaseBuilder(std::string op, std::string name);
  CaseBuilder& in(Tensor tensor);
  CaseBuilder& absent();
  CaseBuilder& with(const char* attribute, Attribute value);
  CaseBuilder& axis(std::int64_t axis);
  CaseBuilder& axes(std::vector<std::int64_t> axes);
  CaseBuilder& shapes(std::vector<std::string> shapes);
  CaseBuilder& zero_gradient(std::size_t input);
  CaseBuilder& not_differenced(std::size_t input);
  CaseBuilder& large();
  CaseBuilder& tolerance(double of32, double of64);
  operator Case() const;  // implicit by design

 private:
  Case case_;
};

// All cases, family by family; built once.
const std::vector<Case>& all_cases();

void add_reduce_cases(std::vector<Case>& cases);
void add_index_cases(std::vector<Case>& cases);
void add_shape_cases(std::vector<Case>& cases);
void add_pointwise_cases(std::vector<Case>& cases);
void add_constant_cases(std::vector<Case>& cases);
void add_algebra_cases(std::vector<Case>& cases);

// Operands. Equal arguments give equal numbers.
Tensor uniform(const Sizes& sizes, double low = -1, double high = 1, std::uint64_t seed = 1);
// Numbers at least 0.01 apart, in random order: no two are equal, and no finite difference changes their ranks.
Tensor distinct(const Sizes& sizes, std::uint64_t seed = 1);
Tensor integers(const Sizes& sizes, const std::vector<std::int32_t>& values);
Tensor random_integers(const Sizes& sizes, std::int32_t below, std::uint64_t seed = 1);
Tensor bools(const Sizes& sizes, const std::vector<std::uint8_t>& values);
Tensor floats(const Sizes& sizes, const std::vector<double>& values);

}  // namespace graphrun::tests
