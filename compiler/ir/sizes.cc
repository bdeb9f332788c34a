#include "compiler/ir/sizes.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace graphrun::ir {
namespace {

using Symbols = std::set<Symbol>;

void add_symbols(const Dim& dim, Symbols& out) {
  const std::vector<Symbol> all = dim.symbols();
  out.insert(all.begin(), all.end());
}

void add_symbols(const Shape& shape, Symbols& out) {
  for (const Dim& dim : shape) add_symbols(dim, out);
}

void add_mentioned(const Graph& graph, Symbols& out) {
  for (const Value& value : graph.values) add_symbols(value.type.shape, out);
  for (const Node& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes.all()) {
      if (const Dim* dim = std::get_if<Dim>(&attribute)) add_symbols(*dim, out);
      if (const Shape* shape = std::get_if<Shape>(&attribute)) add_symbols(*shape, out);
    }
    for (const Graph& region : node.regions) add_mentioned(region, out);
  }
}

// The only symbol of the size that is not yet known, if there is exactly one.
std::optional<Symbol> only_unknown(const Dim& dim, const Symbols& known) {
  std::optional<Symbol> found;
  for (const Symbol s : dim.symbols()) {
    if (known.count(s) != 0) continue;
    if (found) return std::nullopt;
    found = s;
  }
  return found;
}

}  // namespace

std::set<Symbol> unknown_sizes(const Graph& graph) {
  Symbols mentioned, known;
  add_mentioned(graph, mentioned);
  for (const Input& input : graph.inputs) {
    if (input.below) add_symbols(*input.below, mentioned);
  }
  for (std::size_t before = known.size() + 1; before != known.size();) {
    before = known.size();
    for (const Input& input : graph.inputs) {
      for (const Dim& dim : graph.type(input.value).shape)
        if (const auto symbol = only_unknown(dim, known)) known.insert(*symbol);
    }
    for (const auto& [symbol, dim] : graph.defined_symbols) {
      Symbols of;
      add_symbols(dim, of);
      if (std::includes(known.begin(), known.end(), of.begin(), of.end())) known.insert(symbol);
    }
  }
  Symbols unknown;
  std::set_difference(mentioned.begin(), mentioned.end(), known.begin(), known.end(), std::inserter(unknown, unknown.end()));
  return unknown;
}

bool tells_size(const Shape& shape, Symbol symbol) { return std::find(shape.begin(), shape.end(), Dim(symbol)) != shape.end(); }

}  // namespace graphrun::ir
