#include "tools/generate/shared_constants.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ir/readers.h"
#include "compiler/rewrite/rewrite.h"
#include "tools/generate/search_graph.h"

namespace graphrun {
namespace {

using ir::ValueId;

// Whether the constant has rows, not as its last axis, and pointwise work alone reads it, which then finds the rows itself (the
// pass read_rows). Anything else would copy them at every step.
bool may_be_shared(const ir::Graph& step, const GenerationGraphs::Carried& constant, std::span<const std::int32_t> readers) {
  if (constant.row_axis < 0 || constant.row_axis + 1 >= static_cast<int>(constant.type.shape.size())) return false;
  return !readers.empty() && std::all_of(readers.begin(), readers.end(),
                                         [&](std::int32_t n) { return step.nodes[static_cast<std::size_t>(n)].op->pointwise; });
}

}  // namespace

ir::Graph with_shared_constants(ir::Graph step, const GenerationGraphs& cut) {
  const ir::Readers readers(step);
  const std::vector<bool> at_end = ir::read_at_end(step);
  std::map<ValueId, std::int64_t> axes;  // of rows, by shared constant
  for (const ir::Input& input : step.inputs) {
    for (const GenerationGraphs::Carried& c : cut.constants) {
      if (c.name != step.value(input.value).name || at_end[static_cast<std::size_t>(input.value)]) continue;
      if (may_be_shared(step, c, readers.of(input.value))) axes[input.value] = c.row_axis;
    }
  }
  if (axes.empty()) return step;
  const ValueId sources = ir::Builder(step).input(search_names::kSourceOf, {Type::kInt32, {Dim(cut.rows)}});
  const Dim sentences = Symbol::named("search.sources");
  Rebuild rebuild(step);
  std::map<ValueId, ValueId> rows;  // of shared constants
  for (const auto& [constant, axis] : axes) {
    step.value(constant).type.shape[static_cast<std::size_t>(axis)] = sentences;
    rebuild.builder().set_name(step.value(constant).name);
    rows[constant] = rebuild.builder().op("select_rows", {constant, sources}, {{"axis", axis}});
  }
  for (ir::Node& node : rebuild.old_nodes()) {
    for (ValueId& v : node.inputs) {
      if (const auto it = rows.find(v); it != rows.end()) v = it->second;
    }
    rebuild.keep(std::move(node));
  }
  rebuild.finish();
  return step;
}

}  // namespace graphrun
