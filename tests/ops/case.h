// One use of an op, small enough to check by hand: operands, attributes and what is special about it. From each case come the
// check against a reference, the check of the gradient by finite differences, and the checks of threads, in-place memory and
// padding.
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
  std::string name;            // what this case is about; unique among those of the op
  std::vector<Tensor> inputs;  // FLOAT ones in float64; empty: an absent optional one
  ir::NamedAttributes attributes;
  // Symbolic shapes of the inputs, as in "[time, batch, 3]"; none: their sizes as numbers. Symbols take the inputs' sizes.
  std::vector<std::string> shapes;
  std::set<std::size_t> zero_gradient;    // inputs whose gradient is zero everywhere
  std::set<std::size_t> not_differenced;  // inputs at which the op has no derivative to compare with (an optimizer's)
  bool large = false;                     // for threads: too large for finite differences
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
// A Case filled in one call after the other, in the order of tests' reading.
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
  operator Case() const;  // NOLINT: that is what it is for

 private:
  Case case_;
};

// Every case there is, family by family; made once.
const std::vector<Case>& all_cases();

void add_reduce_cases(std::vector<Case>& cases);
void add_index_cases(std::vector<Case>& cases);
void add_shape_cases(std::vector<Case>& cases);
void add_pointwise_cases(std::vector<Case>& cases);
void add_constant_cases(std::vector<Case>& cases);
void add_algebra_cases(std::vector<Case>& cases);

// Operands. The same arguments give the same numbers.
Tensor uniform(const Sizes& sizes, double low = -1, double high = 1, std::uint64_t seed = 1);
// Numbers at least 0.01 apart, in no order: no two are equal, none changes its rank in a finite difference.
Tensor distinct(const Sizes& sizes, std::uint64_t seed = 1);
Tensor integers(const Sizes& sizes, const std::vector<std::int32_t>& values);
Tensor random_integers(const Sizes& sizes, std::int32_t below, std::uint64_t seed = 1);
Tensor bools(const Sizes& sizes, const std::vector<std::uint8_t>& values);
Tensor floats(const Sizes& sizes, const std::vector<double>& values);

}  // namespace graphrun::tests
