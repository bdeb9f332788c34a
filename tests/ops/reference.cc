#include "tests/ops/reference.h"

#include <algorithm>

#include "tests/ops/fixture.h"

namespace graphrun::tests {

Array::Array(Sizes s, double fill) : sizes(std::move(s)) {
  std::int64_t n = 1;
  for (std::int64_t d : sizes) n *= d;
  data.assign(static_cast<std::size_t>(n), fill);
}

std::int64_t Array::offset(const Sizes& index) const {
  GRAPHRUN_CHECK(index.size() == sizes.size(), "Array: rank");
  std::int64_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    GRAPHRUN_CHECK(index[i] >= 0 && index[i] < sizes[i], "Array: index");
    at = at * sizes[i] + index[i];
  }
  return at;
}

std::vector<Sizes> indices_of(const Sizes& sizes) {
  std::vector<Sizes> out = {{}};
  for (std::int64_t n : sizes) {
    std::vector<Sizes> longer;
    for (const Sizes& s : out) {
      for (std::int64_t i = 0; i < n; ++i) longer.push_back(with(s, s.size(), i));
    }
    out = std::move(longer);
  }
  return out;
}

Sizes without(Sizes index, std::size_t axis) {
  index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
  return index;
}

Sizes with(Sizes index, std::size_t axis, std::int64_t value) {
  index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), value);
  return index;
}

std::size_t Call::axis(std::size_t rank) const {
  const std::int64_t a = attributes.integer("axis");
  return static_cast<std::size_t>(a < 0 ? a + static_cast<std::int64_t>(rank) : a);
}

std::int64_t Call::length(std::size_t lengths, const Sizes& rest, std::int64_t n) const {
  if (!has(lengths)) return n;
  const Array& l = x(lengths);
  const double value = l[Sizes(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(l.rank()))];
  return std::min(n, std::max<std::int64_t>(0, static_cast<std::int64_t>(value)));
}

const Reference* reference_of(const std::string& op) {
  static const References references = [] {
    References all;
    add_reduce_references(all);
    add_index_references(all);
    add_shape_references(all);
    add_pointwise_references(all);
    add_constant_references(all);
    add_algebra_references(all);
    add_optimizer_references(all);
    return all;
  }();
  const auto it = references.find(op);
  return it == references.end() ? nullptr : &it->second;
}

std::vector<Array> run_reference(const Case& c) {
  const CaseGraph g = forward_graph(c);
  const ir::Node& node = g.graph.nodes.at(static_cast<std::size_t>(g.graph.value(g.outputs.at(0)).node));
  Call call;
  call.attributes = node.attributes;
  call.symbols = g.symbols;
  std::vector<Array> arrays;
  for (const Tensor& t : c.inputs) {
    arrays.emplace_back(t.empty() ? Sizes{0} : t.sizes());
    for (std::int64_t i = 0; !t.empty() && i < t.count(); ++i) arrays.back().data[static_cast<std::size_t>(i)] = t.at(i);
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) call.inputs.push_back(c.inputs[i].empty() ? nullptr : &arrays[i]);
  for (ir::ValueId y : g.outputs) call.output_sizes.push_back(evaluate(g.graph.type(y).shape, g.symbols));
  const Reference* reference = reference_of(c.op);
  GRAPHRUN_CHECK(reference != nullptr, "no reference for " + c.op);
  return (*reference)(call);
}

}  // namespace graphrun::tests
