#include "compiler/rewrite/fuse_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/ir/pointwise_program.h"
#include "compiler/rewrite/fusible_reduction.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::PointwiseProgram;
using ir::ValueId;
using Index = std::size_t;

// Assigns a stage to every node. Along every edge the stage increases, or stays the same if both ends are pointwise nodes of
// one shape. Nodes of one stage and shape may then be grouped in any way: a path that leaves a group reaches a later stage and
// never returns.
//
// Many assignments satisfy this. First each node takes its earliest stage. Then, from the last node to the first, each moves to
// its latest stage if that puts it together with at least as many of the nodes that it shares values with.
class FusionStages {
 public:
  FusionStages(const Graph& graph, const ir::Readers& readers, const std::vector<bool>& at_end)
      : graph_(graph), readers_(readers), kind_(graph.nodes.size(), -1), stage_(graph.nodes.size(), 0) {
    std::map<Shape, int> kinds;
    for (Index n = 0; n < graph.nodes.size(); ++n) {
      if (!may_fuse(graph.nodes[n], at_end)) continue;
      const Shape& shape = graph.type(graph.nodes[n].outputs[0]).shape;
      kind_[n] = kinds.emplace(shape, static_cast<int>(kinds.size())).first->second;
    }
    for (Index n = 0; n < graph.nodes.size(); ++n) stage_[n] = earliest(n);
    for (Index n = graph.nodes.size(); n-- > 0;) move_later(n);
  }

  bool fusible(Index n) const { return kind_[n] >= 0; }
  int stage(Index n) const { return stage_[n]; }
  bool together(Index a, Index b) const { return kind_[a] >= 0 && kind_[a] == kind_[b] && stage_[a] == stage_[b]; }

 private:
  static constexpr int kNoLimit = std::numeric_limits<int>::max();

  bool may_fuse(const Node& node, const std::vector<bool>& at_end) const {
    if (!may_be_instruction(node)) return false;
    const ValueId v = node.outputs[0];
    return at_end[static_cast<Index>(v)] || !readers_.of(v).empty();
  }

  bool same_kind(Index a, Index b) const { return kind_[a] >= 0 && kind_[a] == kind_[b]; }

  // Calls fn(producer) for every value that this node reads and another node computes. Constants are skipped: each program has
  // its own copy.
  template <class Fn>
  void for_producers(Index n, Fn fn) const {
    const std::vector<ValueId>& inputs = graph_.nodes[n].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ValueId v = inputs[i];
      const auto here = inputs.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(inputs.begin(), here, v) != here) continue;  // x * x
      if (v == kNone || graph_.value(v).node < 0 || is_program_number(graph_, v)) continue;
      fn(static_cast<Index>(graph_.value(v).node));
    }
  }
  template <class Fn>
  void for_readers(Index n, Fn fn) const {
    for (ValueId v : graph_.nodes[n].outputs) {
      std::int32_t last = -1;  // x * x is listed twice as a reader of x
      for (std::int32_t reader : readers_.of(v)) {
        if (std::exchange(last, reader) != reader) fn(static_cast<Index>(reader));
      }
    }
  }

  int earliest(Index n) const {
    int stage = 0;
    for_producers(n, [&](Index p) { stage = std::max(stage, stage_[p] + !same_kind(p, n)); });
    return stage;
  }
  int latest(Index n) const {
    int stage = kNoLimit;
    for_readers(n, [&](Index r) { stage = std::min(stage, stage_[r] == kNoLimit ? kNoLimit : stage_[r] - !same_kind(n, r)); });
    return stage;
  }

  void move_later(Index n) {
    const int limit = latest(n);
    if (kind_[n] < 0) {
      stage_[n] = limit;  // never fused, so any stage will do; a late one leaves more room to the nodes before it
      return;
    }
    int above = 0, below = 0;  // number of neighbors in its current stage; in its latest stage
    for_producers(n, [&](Index p) { above += same_kind(p, n) && stage_[p] == stage_[n]; });
    for_readers(n, [&](Index r) { below += same_kind(n, r) && stage_[r] == limit; });
    if (below > 0 && below >= above) stage_[n] = limit;
  }

  const Graph& graph_;
  const ir::Readers& readers_;
  std::vector<int> kind_;  // by node: an id of its result's shape, or -1 if it is never fused
  std::vector<int> stage_;
};

class Sets {
 public:
  explicit Sets(Index n) : up_(n) { std::iota(up_.begin(), up_.end(), Index{0}); }
  Index of(Index i) {
    while (up_[i] != i) i = up_[i] = up_[up_[i]];
    return i;
  }
  void join(Index a, Index b) { up_[of(a)] = of(b); }

 private:
  std::vector<Index> up_;
};

// Connects nodes of one stage and shape that share a value: one computes it and the other reads it, or both read it and it has
// their shape.
std::vector<std::vector<Index>> components(const Graph& graph, const ir::Readers& readers, const FusionStages& stages) {
  Sets sets(graph.nodes.size());
  for (Index v = 0; v < graph.values.size(); ++v) {
    const ir::Value& value = graph.values[v];
    std::vector<Index> beside;
    if (value.node >= 0 && stages.fusible(static_cast<Index>(value.node))) beside.push_back(static_cast<Index>(value.node));
    for (std::int32_t r : readers.of(static_cast<ValueId>(v))) {
      const auto reader = static_cast<Index>(r);
      if (!stages.fusible(reader)) continue;
      if (graph.type(graph.nodes[reader].outputs[0]).shape == value.type.shape) beside.push_back(reader);
    }
    // The first reader of each stage: a later reader of the same stage is connected to it.
    std::unordered_map<int, Index> first;
    for (Index n : beside) {
      const auto [it, fresh] = first.emplace(stages.stage(n), n);
      if (!fresh && stages.together(it->second, n)) sets.join(n, it->second);
    }
  }
  std::unordered_map<Index, Index> number;
  std::vector<std::vector<Index>> all;
  for (Index n = 0; n < graph.nodes.size(); ++n) {
    if (!stages.fusible(n)) continue;
    const auto [it, fresh] = number.emplace(sets.of(n), all.size());
    if (fresh) all.emplace_back();
    all[it->second].push_back(n);
  }
  return all;
}

// Divides a component, in its order, into runs that each fit into a program. Values only flow from earlier runs to later ones.
class Cutter {
 public:
  Cutter(const Graph& graph, const ir::Readers& readers, const std::vector<bool>& at_end)
      : graph_(graph), readers_(readers), at_end_(at_end) {}

  void cut(const std::vector<Index>& component, std::vector<std::vector<Index>>& groups) {
    for (Index begin = 0; begin < component.size();) {
      const Index end = begin + longest(component, begin);
      std::vector<Index> group(component.begin() + static_cast<std::ptrdiff_t>(begin),
                               component.begin() + static_cast<std::ptrdiff_t>(end));
      if (group.size() > 1 && is_sound(group)) groups.push_back(std::move(group));
      begin = end;
    }
  }

 private:
  // The number of nodes from `begin` on that fit.
  Index longest(const std::vector<Index>& component, Index begin) const {
    std::vector<ValueId> inputs;
    std::unordered_map<ValueId, Index> unread;  // for each value of the run: the number of readers outside it
    Index open = 0, draws = 0, best = 1;        // values with such readers; instructions that draw
    const Index most = std::min(component.size() - begin, PointwiseProgram::kMostInstructions);
    for (Index k = 0; k < most; ++k) {
      const Node& node = graph_.nodes[component[begin + k]];
      for (ValueId v : node.inputs) {
        if (const auto made = unread.find(v); made != unread.end()) {
          open -= --made->second == 0;
        } else if (!is_program_number(graph_, v) && std::find(inputs.begin(), inputs.end(), v) == inputs.end()) {
          inputs.push_back(v);
        }
      }
      draws += ir::is_draw(*node.op);
      if (inputs.size() > PointwiseProgram::kMostInputs || draws > PointwiseProgram::kMostDraws) break;
      const ValueId out = node.outputs[0];
      unread[out] = readers_.of(out).size() + at_end_[static_cast<Index>(out)];
      ++open;
      if (open <= PointwiseProgram::kMostResults) best = k + 1;
    }
    return best;
  }

  // A program needs an input and, if it computes with FLOAT, an operand or result that determines which float type that is.
  bool is_sound(const std::vector<Index>& group) const {
    const auto inside = [&](std::int32_t n) {
      return n >= 0 && std::binary_search(group.begin(), group.end(), static_cast<Index>(n));
    };
    bool has_input = false, has_float = false, tells_float = false;
    for (Index n : group) {
      for (ValueId v : graph_.nodes[n].inputs) {
        if (inside(graph_.value(v).node) || is_program_number(graph_, v)) continue;
        has_input = true;
        tells_float |= graph_.type(v).type == Type::kFloat;
      }
      const ValueId out = graph_.nodes[n].outputs[0];
      if (graph_.type(out).type != Type::kFloat) continue;
      has_float = true;
      const auto readers = readers_.of(out);
      tells_float |= at_end_[static_cast<Index>(out)] || !std::all_of(readers.begin(), readers.end(), inside);
    }
    return has_input && (!has_float || tells_float);
  }

  const Graph& graph_;
  const ir::Readers& readers_;
  const std::vector<bool>& at_end_;
};

// If a group has several results, removes the nodes whose results only reductions read, provided that everything they read of
// the group is stored anyway. Such a result is then reduced as it is computed (compiler/passes/fuse_reductions.h) and never
// stored. Example: sum(tanh(x) * v), where tanh(x) is also a result.
class EdgesLeft {
 public:
  EdgesLeft(const Graph& graph, const ir::Readers& readers, const std::vector<bool>& at_end)
      : graph_(graph), readers_(readers), at_end_(at_end) {}

  void leave(std::vector<Index>& group) const {
    const std::vector<Index> whole = group;
    std::optional<ReducedAxes> common;
    bool reduced_alone = true;  // all results are reduced along the same axes: then the group stays whole
    for (Index n : whole) {
      if (!escapes(graph_.nodes[n].outputs[0], whole)) continue;
      const std::optional<ReducedAxes> axes = reduced_axes(n, whole);
      reduced_alone = reduced_alone && axes && (!common || *common == *axes);
      if (axes) common = axes;
    }
    if (reduced_alone) return;
    std::erase_if(group, [&](Index n) {
      return reduced_axes(n, {}).has_value() && !ir::is_draw(*graph_.nodes[n].op) &&
             std::all_of(graph_.nodes[n].inputs.begin(), graph_.nodes[n].inputs.end(),
                         [&](ValueId v) { return !made_in(v, whole) || escapes(v, whole); });
    });
  }

 private:
  static bool holds(const std::vector<Index>& group, std::int32_t n) {
    return n >= 0 && std::binary_search(group.begin(), group.end(), static_cast<Index>(n));
  }
  bool made_in(ValueId v, const std::vector<Index>& group) const { return v != kNone && holds(group, graph_.value(v).node); }
  bool escapes(ValueId v, const std::vector<Index>& group) const {
    const auto readers = readers_.of(v);
    return at_end_[static_cast<Index>(v)] ||
           !std::all_of(readers.begin(), readers.end(), [&](std::int32_t r) { return holds(group, r); });
  }

  // If all readers of the node outside `group` are reductions along the same axes, returns these axes.
  std::optional<ReducedAxes> reduced_axes(Index n, const std::vector<Index>& group) const {
    const ValueId v = graph_.nodes[n].outputs[0];
    if (at_end_[static_cast<Index>(v)] || graph_.type(v).type != Type::kFloat) return std::nullopt;
    std::optional<ReducedAxes> axes;
    for (std::int32_t r : readers_.of(v)) {
      if (holds(group, r)) continue;
      const std::optional<FusibleReduction> reduction = fusible_reduction(graph_, graph_.nodes[static_cast<Index>(r)]);
      if (!reduction || (axes && !(*axes == reduction->axes))) return std::nullopt;
      axes = reduction->axes;
    }
    return axes;
  }

  const Graph& graph_;
  const ir::Readers& readers_;
  const std::vector<bool>& at_end_;
};

}  // namespace

std::vector<std::vector<Index>> find_fusible_groups(const Graph& graph, const ir::Readers& readers) {
  const std::vector<bool> at_end = read_at_end(graph);
  const FusionStages stages(graph, readers, at_end);
  Cutter cutter(graph, readers, at_end);
  std::vector<std::vector<Index>> groups;
  for (const std::vector<Index>& component : components(graph, readers, stages)) cutter.cut(component, groups);
  const EdgesLeft edges(graph, readers, at_end);
  for (std::vector<Index>& group : groups) edges.leave(group);
  std::erase_if(groups, [](const std::vector<Index>& group) { return group.size() < 2; });
  return groups;
}

bool may_be_instruction(const Node& node) {
  // The text of a program puts keys in quotes.
  return ir::is_program_op(*node.op) && node.outputs.size() == 1 &&
         (!ir::is_draw(*node.op) || node.attributes.string("key").find('"') == std::string::npos);
}

PointwiseProgram::Instruction instruction_of(const Graph& graph, const Node& node) {
  PointwiseProgram::Instruction made;
  made.op = node.op;
  if (ir::is_draw(*node.op)) {
    made.rate = node.attributes.number("rate");
    made.key = node.attributes.string("key");
  } else if (!node.op->pointwise) {
    made.to = graph.type(node.outputs[0]).type;  // for a cast
  }
  return made;
}

bool is_program_number(const Graph& graph, ValueId v) {
  const std::optional<double> number = ir::number(graph, v);
  return number && !std::isnan(*number);
}

PointwiseWork work_of(const Graph& graph, const Node& node) {
  if (ir::plays(node, ir::Role::kProgram)) return {ir::program_of(node.attributes), node.inputs, node.origins};
  PointwiseWork work;
  PointwiseProgram::Instruction made = instruction_of(graph, node);
  for (ValueId v : node.inputs) {
    if (is_program_number(graph, v)) {
      made.operands.push_back(PointwiseProgram::Operand::constant(*ir::number(graph, v), graph.type(v).type));
      continue;
    }
    auto at = std::find(work.inputs.begin(), work.inputs.end(), v);
    if (at == work.inputs.end()) at = work.inputs.insert(at, v);
    made.operands.push_back(PointwiseProgram::Operand::input(static_cast<std::size_t>(at - work.inputs.begin())));
  }
  work.program.instructions.push_back(std::move(made));
  work.program.results.push_back(0);
  work.origins.push_back({graph.value(node.outputs[0]).name, node.at});
  return work;
}

}  // namespace graphrun
