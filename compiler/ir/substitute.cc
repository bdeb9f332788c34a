#include "compiler/ir/substitute.h"

#include <utility>

namespace graphrun::ir {

Shape substituted(Shape shape, const SizesBySymbol& by) {
  for (Dim& d : shape) d = d.substitute(by);
  return shape;
}

Attribute substituted(const Attribute& attribute, const SizesBySymbol& by) {
  if (const Dim* d = std::get_if<Dim>(&attribute)) return d->substitute(by);
  if (const Shape* shape = std::get_if<Shape>(&attribute)) return substituted(*shape, by);
  return attribute;
}

Graph substituted(Graph graph, const SizesBySymbol& by) {
  for (Value& value : graph.values) value.type.shape = substituted(std::move(value.type.shape), by);
  for (Node& node : graph.nodes) {
    Attributes attributes;
    for (const auto& [name, attribute] : node.attributes.all()) attributes.set(name, substituted(attribute, by));
    node.attributes = std::move(attributes);
    for (Graph& region : node.regions) region = substituted(std::move(region), by);
  }
  for (Input& input : graph.inputs) {
    GRAPHRUN_CHECK(!input.lengths_of || by.count(*input.lengths_of) == 0, "an input holds the lengths of what is substituted");
    if (input.below) input.below = input.below->substitute(by);
  }
  for (auto& [symbol, dim] : graph.defined_symbols) dim = dim.substitute(by);
  return graph;
}

}  // namespace graphrun::ir
