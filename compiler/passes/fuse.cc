#include "compiler/passes/fuse.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "compiler/ir/op.h"
#include "compiler/ir/pointwise_program.h"
#include "compiler/ir/readers.h"
#include "compiler/rewrite/fuse_groups.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::PointwiseProgram;
using ir::ValueId;
using Index = std::size_t;

// A fused group: its program, and the values that it reads and returns.
struct Fusion {
  PointwiseProgram program;
  std::vector<ValueId> inputs, results;
  std::vector<Origin> origins;  // by instruction
};

// Orders groups and single nodes so that definitions precede uses, as close to the old order as possible.
class Units {
 public:
  Units(const Graph& graph, const ir::Readers& readers, std::vector<std::vector<Index>> groups) : members_(std::move(groups)) {
    groups_ = members_.size();
    unit_.assign(graph.nodes.size(), kNoUnit);
    for (Index u = 0; u < groups_; ++u) {
      for (Index n : members_[u]) unit_[n] = u;
    }
    for (Index n = 0; n < graph.nodes.size(); ++n) {
      if (unit_[n] != kNoUnit) continue;
      unit_[n] = members_.size();
      members_.push_back({n});
    }
    sort(graph, readers);
  }

  const std::vector<Index>& order() const { return order_; }
  const std::vector<Index>& members(Index unit) const { return members_[unit]; }
  bool is_group(Index unit) const { return unit < groups_; }
  Index of(Index node) const { return unit_[node]; }

 private:
  static constexpr Index kNoUnit = static_cast<Index>(-1);

  void sort(const Graph& graph, const ir::Readers& readers) {
    std::vector<Index> open(members_.size(), 0);  // reads of values that are not computed yet
    for (Index n = 0; n < graph.nodes.size(); ++n) {
      for (ValueId v : graph.nodes[n].inputs) {
        if (v == kNone || graph.value(v).node < 0) continue;
        open[unit_[n]] += unit_[static_cast<Index>(graph.value(v).node)] != unit_[n];
      }
    }
    using Entry = std::pair<Index, Index>;  // position of the last member, unit
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (Index u = 0; u < members_.size(); ++u) {
      if (open[u] == 0) ready.emplace(members_[u].back(), u);
    }
    while (!ready.empty()) {
      const Index u = ready.top().second;
      ready.pop();
      order_.push_back(u);
      for (Index n : members_[u]) {
        for (ValueId v : graph.nodes[n].outputs) {
          for (std::int32_t r : readers.of(v)) {
            const Index reader = unit_[static_cast<Index>(r)];
            if (reader != u && --open[reader] == 0) ready.emplace(members_[reader].back(), reader);
          }
        }
      }
    }
    GRAPHRUN_CHECK(order_.size() == members_.size(), "fuse: a group reads what it makes");
  }

  std::vector<std::vector<Index>> members_;  // by unit: groups first
  Index groups_ = 0;
  std::vector<Index> unit_;  // by node
  std::vector<Index> order_;
};

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph), readers_(graph), at_end_(read_at_end(graph)) {}

  bool run() {
    std::vector<std::vector<Index>> groups = find_fusible_groups(graph_, readers_);
    if (groups.empty()) return false;
    const Units units(graph_, readers_, std::move(groups));
    std::vector<Fusion> fusions;  // created while the graph is still complete
    for (Index u = 0; units.is_group(u); ++u) fusions.push_back(fusion(units, u));
    std::vector<bool> dead(graph_.nodes.size());
    for (Index n = 0; n < graph_.nodes.size(); ++n) dead[n] = is_absorbed(units, n);
    Rebuild rebuild(graph_);
    for (Index u : units.order()) {
      const Index last = units.members(u).back();
      if (units.is_group(u)) {
        emit(rebuild, fusions[u], rebuild.old_nodes()[last].at);
      } else if (!dead[last]) {
        rebuild.keep(std::move(rebuild.old_nodes()[last]));
      }
    }
    rebuild.finish();
    return true;
  }

 private:
  Fusion fusion(const Units& units, Index u) const {
    Fusion made;
    std::vector<ValueId> values;
    for (Index n : units.members(u)) {
      const Node& node = graph_.nodes[n];
      PointwiseProgram::Instruction instruction = instruction_of(graph_, node);
      for (ValueId v : node.inputs) instruction.operands.push_back(operand(v, values, made.inputs));
      const ValueId out = node.outputs[0];
      if (is_result(units, u, out)) {
        made.program.results.push_back(values.size());
        made.results.push_back(out);
      }
      values.push_back(out);
      made.origins.push_back({graph_.value(out).name, node.at});
      made.program.instructions.push_back(std::move(instruction));
    }
    return made;
  }

  PointwiseProgram::Operand operand(ValueId v, const std::vector<ValueId>& values, std::vector<ValueId>& inputs) const {
    const auto made = std::find(values.begin(), values.end(), v);
    if (made != values.end()) return PointwiseProgram::Operand::instruction(static_cast<Index>(made - values.begin()));
    if (is_program_number(graph_, v)) {
      return PointwiseProgram::Operand::constant(*ir::number(graph_, v), graph_.type(v).type);
    }
    auto at = std::find(inputs.begin(), inputs.end(), v);
    if (at == inputs.end()) at = inputs.insert(at, v);
    return PointwiseProgram::Operand::input(static_cast<Index>(at - inputs.begin()));
  }

  bool is_result(const Units& units, Index u, ValueId v) const {
    const auto readers = readers_.of(v);
    return at_end_[static_cast<Index>(v)] ||
           !std::all_of(readers.begin(), readers.end(), [&](std::int32_t r) { return units.of(static_cast<Index>(r)) == u; });
  }

  // Whether the node is a constant that the programs of all its readers contain.
  bool is_absorbed(const Units& units, Index n) const {
    const Node& node = graph_.nodes[n];
    if (node.outputs.size() != 1 || !is_program_number(graph_, node.outputs[0])) return false;
    const auto readers = readers_.of(node.outputs[0]);
    return !readers.empty() && !at_end_[static_cast<Index>(node.outputs[0])] &&
           std::all_of(readers.begin(), readers.end(),
                       [&](std::int32_t r) { return units.is_group(units.of(static_cast<Index>(r))); });
  }

  static void emit(Rebuild& rebuild, const Fusion& fusion, const Location& at) {
    std::vector<ValueId> inputs;
    for (ValueId v : fusion.inputs) inputs.push_back(rebuild.of(v));
    rebuild.builder().set_location(at);
    rebuild.builder().set_name("fused");
    const std::vector<ValueId> results =
        rebuild.builder().ops("fused", std::move(inputs), {{"code", OpaqueValue(fusion.program)}});
    rebuild.builder().graph().nodes.back().origins = fusion.origins;
    for (Index r = 0; r < results.size(); ++r) rebuild.replace(fusion.results[r], results[r]);
  }

  Graph& graph_;
  const ir::Readers readers_;
  const std::vector<bool> at_end_;
};

bool fuse_in(Graph& graph) {
  bool changed = false;
  // Nodes that a group left out may form groups of their own once that group is one node.
  while (Fuser(graph).run()) changed = true;
  return changed;
}

}  // namespace

PassResult fuse(Graph graph) {
  const bool changed = rewrite_inner_first(graph, [](Graph& g, const Node*) { return fuse_in(g); });
  return {std::move(graph), changed};
}

}  // namespace graphrun
