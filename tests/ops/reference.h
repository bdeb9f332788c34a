// The definitions of ops, as plain loops over doubles, written from their documentation and sharing no code with the kernels.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/attributes.h"
#include "runtime/tensor/tensor.h"
#include "tests/ops/case.h"

namespace graphrun::tests {

// A dense array of doubles; also holds integers and bools.
struct Array {
  Sizes sizes;
  std::vector<double> data;

  Array() = default;
  explicit Array(Sizes s, double fill = 0);
  std::int64_t count() const { return static_cast<std::int64_t>(data.size()); }
  std::size_t rank() const { return sizes.size(); }
  double& operator[](const Sizes& index) { return data[static_cast<std::size_t>(offset(index))]; }
  double operator[](const Sizes& index) const { return data[static_cast<std::size_t>(offset(index))]; }
  std::int64_t offset(const Sizes& index) const;
};

// Every index of an array of these sizes, in row-major order.
std::vector<Sizes> indices_of(const Sizes& sizes);

// `index` with one coordinate removed or added.
Sizes without(Sizes index, std::size_t axis);
Sizes with(Sizes index, std::size_t axis, std::int64_t value);

// The input of a reference: operands (absent ones are null), complete attributes, the results' shapes.
struct Call {
  std::vector<const Array*> inputs;
  Attributes attributes;
  SymbolValues symbols;
  std::vector<Sizes> output_sizes;

  const Array& x(std::size_t i = 0) const { return *inputs[i]; }
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  // The axis attribute as an index into x's axes (or into `rank` axes).
  std::size_t axis(std::size_t rank) const;
  std::int64_t size(const std::string& attribute) const { return attributes.dim(attribute).evaluate(symbols); }
  // The number of positions along `axis` of x that count for element `rest` of the result.
  std::int64_t length(std::size_t lengths, const Sizes& rest, std::int64_t n) const;
};

// The operands of a program: those that are read by row number, as select_rows returns them.
struct ProgramOperands {
  ProgramOperands(const Call& c, std::size_t count);
  std::vector<const Array*> inputs;
  std::vector<Array> selected;
};

using Reference = std::function<std::vector<Array>(const Call&)>;

// By op; null if there is none.
const Reference* reference_of(const std::string& op);

// Runs the reference of a case.
std::vector<Array> run_reference(const Case& c);

using References = std::map<std::string, Reference>;
void add_reduce_references(References& references);
void add_index_references(References& references);
void add_shape_references(References& references);
void add_pointwise_references(References& references);
void add_constant_references(References& references);
void add_algebra_references(References& references);
void add_optimizer_references(References& references);

}  // namespace graphrun::tests
