#include "compiler/passes/read_rows.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/ir/readers.h"
#include "compiler/rewrite/fuse_groups.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::Role;
using ir::ValueId;
using Index = std::size_t;

// What a selection selects from.
struct SelectedRows {
  ValueId x = kNone;
  std::int64_t axis = 0;
};

bool has_program(const Node& node) { return ir::plays(node, Role::kProgram) || ir::plays(node, Role::kReductionProgram); }

class RowReading {
 public:
  explicit RowReading(Graph& graph) : graph_(graph), readers_(graph), at_end_(ir::read_at_end(graph)) {}

  bool run() {
    for (const Node& node : graph_.nodes) {
      if (ir::plays(node, Role::kSelectRows)) take(node);
    }
    if (taken_.empty()) return false;
    std::map<Index, PointwiseWork> singles;  // made while the graph is complete
    for (const auto& [n, list] : lists_) {
      if (!has_program(graph_.nodes[n])) singles.emplace(n, work_of(graph_, graph_.nodes[n]));
    }
    Rebuild rebuild(graph_);
    std::vector<Node>& old = rebuild.old_nodes();
    for (Index n = 0; n < old.size(); ++n) {
      if (ir::plays(old[n], Role::kSelectRows) && taken_.count(old[n].outputs[0]) != 0) continue;
      const auto list = lists_.find(n);
      if (list == lists_.end()) {
        rebuild.keep(std::move(old[n]));
      } else if (const auto single = singles.find(n); single != singles.end()) {
        emit(rebuild, old[n], single->second, list->second);
      } else {
        keep(rebuild, std::move(old[n]), list->second);
      }
    }
    rebuild.finish();
    return true;
  }

 private:
  void take(const Node& node) {
    const ValueId selected = node.outputs[0];
    const Shape& shape = graph_.type(selected).shape;
    const int axis = ir::resolve_axis(node.attributes.integer("axis"), shape.size(), node.op->name);
    const auto readers = readers_.of(selected);
    if (at_end_[static_cast<Index>(selected)] || readers.empty() || static_cast<Index>(axis) + 1 >= shape.size()) return;
    if (shape[static_cast<Index>(axis)] == Dim(1)) return;  // may broadcast
    const std::int64_t from_end = static_cast<std::int64_t>(shape.size()) - axis;
    for (std::int32_t r : readers) {
      if (!may_read(static_cast<Index>(r), selected, node.inputs[1], from_end)) return;
    }
    for (std::int32_t r : readers) lists_[static_cast<Index>(r)] = node.inputs[1];
    taken_[selected] = {node.inputs[0], axis};
  }

  // Whether a node may read `selected` through the list. `from_end`: the axes from that of the rows to the last.
  bool may_read(Index n, ValueId selected, ValueId list, std::int64_t from_end) const {
    const Node& node = graph_.nodes[n];
    if (const auto other = lists_.find(n); other != lists_.end() && other->second != list) return false;
    if (!has_program(node)) return may_be_instruction(node);
    if (!node.attributes.integers("rows").empty()) return false;
    const Index operands = ir::program_of(node.attributes).inputs();
    if (std::count(node.inputs.begin() + static_cast<std::ptrdiff_t>(operands), node.inputs.end(), selected) > 0) return false;
    if (ir::plays(node, Role::kProgram)) return true;
    // The axes that are reduced belong to the work's shape, which has as many axes as the longest operand.
    Index rank = 0;
    for (Index k = 0; k < operands; ++k) rank = std::max(rank, graph_.type(node.inputs[k]).shape.size());
    const std::vector<std::int64_t>& reduced = node.attributes.integers("axis");
    return !reduced.empty() && std::none_of(reduced.begin(), reduced.end(), [&](std::int64_t axis) {
      return ir::resolve_axis(axis, rank, "axis") == static_cast<int>(rank) - from_end;
    });
  }

  // Replaces selections among a program's operands by what they select from; returns the attribute `rows`.
  std::vector<std::int64_t> look_through(std::vector<ValueId>& operands, Index count) const {
    std::vector<std::int64_t> rows(count, -1);
    for (Index k = 0; k < count; ++k) {
      if (const auto it = taken_.find(operands[k]); it != taken_.end()) operands[k] = it->second.x, rows[k] = it->second.axis;
    }
    return rows;
  }

  void keep(Rebuild& rebuild, Node node, ValueId list) const {
    const Index operands = ir::program_of(node.attributes).inputs();
    node.attributes.set("rows", look_through(node.inputs, operands));
    node.inputs.insert(node.inputs.begin() + static_cast<std::ptrdiff_t>(operands), list);
    rebuild.keep(std::move(node));
  }

  void emit(Rebuild& rebuild, const Node& node, const PointwiseWork& work, ValueId list) const {
    std::vector<ValueId> inputs = work.inputs;
    std::vector<std::int64_t> rows = look_through(inputs, inputs.size());
    inputs.push_back(list);
    for (ValueId& v : inputs) v = rebuild.of(v);
    ir::Builder& b = rebuild.builder();
    b.set_location(node.at);
    b.set_name("fused");
    const std::vector<ValueId> results =
        b.ops("fused", std::move(inputs), {{"code", OpaqueValue(work.program)}, {"rows", std::move(rows)}});
    b.graph().nodes.back().origins = work.origins;
    rebuild.replace(node.outputs[0], results[0]);
  }

  Graph& graph_;
  const ir::Readers readers_;
  const std::vector<bool> at_end_;
  std::map<ValueId, SelectedRows> taken_;  // by selected value
  std::map<Index, ValueId> lists_;         // by reader: the list that it reads through
};

}  // namespace

PassResult read_rows(Graph graph) {
  const bool changed = RowReading(graph).run();
  return {std::move(graph), changed};
}

}  // namespace graphrun
