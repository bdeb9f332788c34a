#include "tests/random/beside_more.h"

#include <algorithm>
#include <set>

#include "tests/random/prefix.h"

namespace graphrun::random_graphs {
namespace {

// The index of the axis that has the size; the number of axes if none has it.
std::size_t axis_of_size(const Shape& shape, Symbol size) {
  return static_cast<std::size_t>(std::find(shape.begin(), shape.end(), Dim(size)) - shape.begin());
}

}  // namespace

BesideMore beside_more(const ir::Graph& graph, Symbol size, std::int64_t few, const Data& fewer, const Data& more) {
  std::set<ir::ValueId> lengths;
  for (const ir::Input& input : graph.inputs)
    if (input.lengths_of == size) lengths.insert(input.value);
  const std::vector<bool> same = same_prefix(graph, size, lengths);

  const Program program = compile(graph, compile_options());
  const Feeds short_lengths = fewer.feeds(program);
  Feeds long_feeds, short_feeds;
  for (const auto& [name, tensor] : more.feeds(program)) {
    const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                    [&](const ir::Input& i) { return graph.value(i.value).name == name; });
    long_feeds[name] = lengths.count(input->value) != 0 ? short_lengths.at(name) : tensor;
    const std::size_t axis = axis_of_size(graph.type(input->value).shape, size);
    const Tensor& all = long_feeds[name];
    short_feeds[name] = axis < all.sizes().size() ? first_along(all, axis, few) : all;
  }
  const Results longer = run(graph, compile_options(), more, long_feeds),
                shorter = run(graph, compile_options(), more, short_feeds);
  BesideMore result;
  result.refused = longer.refused.empty() ? shorter.refused : longer.refused;
  if (!result.refused.empty() || !well_behaved(longer) || !well_behaved(shorter)) return result;

  Results expected, found;
  const auto compare = [&](const std::string& name, ir::ValueId value) {
    if (value == ir::kNone || !same[static_cast<std::size_t>(value)]) return;
    const std::size_t axis = axis_of_size(graph.type(value).shape, size);
    ++result.compared;
    for (std::size_t k = 0; k < longer.names.size(); ++k) {
      if (longer.names[k] != name) continue;
      expected.names.push_back(name), found.names.push_back(name);
      expected.values.push_back(shorter.values[k]);
      const Tensor& all = longer.values[k];
      found.values.push_back(axis < all.sizes().size() ? first_along(all, axis, few) : all);
    }
  };
  for (const ir::Output& o : graph.outputs) compare(o.name, o.value);
  for (const ir::Variable& v : graph.variables)
    if (v.kind == ir::Variable::Kind::kState) compare("state " + graph.value(v.value).name, v.next);
  result.differs = difference(expected, found, kClose);
  return result;
}

}  // namespace graphrun::random_graphs
