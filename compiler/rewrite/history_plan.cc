#include "compiler/rewrite/history_plan.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/ir/op.h"
#include "compiler/ir/substitute.h"
#include "compiler/rewrite/around_scan.h"
#include "compiler/rewrite/recurrences.h"
#include "compiler/rewrite/shape_order.h"

namespace graphrun {
namespace {

using ir::Access;
using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::Role;
using ir::ValueId;

class Planner {
 public:
  Planner(const Node& scan, const std::vector<bool>& read)
      : scan_(scan), read_(read), body_(scan.regions[0]), l_(scan_layout(scan)), step_(body_.inputs[l_.step()].value) {}

  DivisionPlan run() {
    if (l_.states == 0 || !find_histories() || !stop_at_present()) return {};
    // A reverse loop visits later steps first, so a history would not have the rows of the steps before the current one yet.
    if (scan_.attributes.boolean("reverse") && !plan_.rows.empty()) return {};
    if (!assign_levels() || (plan_.rows.empty() && plan_.loops == 1)) return {};
    plan_.body = body_;
    write_steps(plan_.body);
    plan_.possible = true;
    return std::move(plan_);
  }

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }

  // Finds the histories: states to which a put adds a row at every step, and which the put alone updates.
  bool find_histories() {
    std::map<ValueId, int> readers;
    for (const Node& node : body_.nodes) {
      for (ValueId v : node.inputs) ++readers[v];
    }
    for (const ir::Output& o : body_.outputs) ++readers[o.value];
    for (std::size_t s = 0; s < l_.states; ++s) {
      const ValueId before = body_.inputs[s].value, after = body_.outputs[s].value;
      const Node* put = ir::made_by(body_, after, Role::kPut);
      is_history_.push_back(put && put->inputs[0] == before);
      if (!is_history_.back()) continue;
      if (put->inputs[2] != step_ || readers[before] != 1) return false;
      const std::optional<Symbol> size = body_.type(after).shape[0].as_symbol();
      if (!size || read_[index(scan_.outputs[s])]) return false;
      sizes_.insert(*size);
      plan_.rows[after] = put->inputs[1];
    }
    return none_crosses();
  }

  // Whether only histories enter or leave the loop with a history's size.
  bool none_crosses() const {
    for (std::size_t i = 0; i < body_.inputs.size(); ++i) {
      if (!(i < l_.states && is_history_[i]) && history_axes(body_.inputs[i].value) != 0) return false;
    }
    for (std::size_t k = l_.states; k < body_.outputs.size(); ++k) {
      if (history_axes(body_.outputs[k].value) != 0) return false;
    }
    return true;
  }

  bool is_history_axis(const Dim& d) const {
    const std::optional<Symbol> symbol = d.as_symbol();
    return symbol && sizes_.count(*symbol) != 0;
  }
  std::ptrdiff_t history_axes(ValueId v) const {
    const Shape& shape = body_.type(v).shape;
    return std::count_if(shape.begin(), shape.end(), [&](const Dim& d) { return is_history_axis(d); });
  }

  // Whether v is step + 1, or the minimum of that and another value.
  bool is_at_most_present(ValueId v) const {
    if (const Node* least = ir::made_by(body_, v, Role::kMinimum)) {
      return std::any_of(least->inputs.begin(), least->inputs.end(), [&](ValueId x) { return is_at_most_present(x); });
    }
    const Node* node = ir::made_by(body_, v, Role::kAdd);
    const auto is_one = [&](ValueId x) { return ir::number(body_, x) == 1.0; };
    return node &&
           ((node->inputs[0] == step_ && is_one(node->inputs[1])) || (node->inputs[1] == step_ && is_one(node->inputs[0])));
  }

  std::vector<std::size_t> axes_of(const Node& node, std::size_t rank) const {
    std::vector<std::size_t> axes;
    const Attribute& axis = node.attributes.all().find("axis")->second;
    const auto add = [&](std::int64_t a) {
      axes.push_back(static_cast<std::size_t>(a < 0 ? a + static_cast<std::int64_t>(rank) : a));
    };
    if (const auto* one = std::get_if<std::int64_t>(&axis)) add(*one);
    if (const auto* several = std::get_if<std::vector<std::int64_t>>(&axis))
      std::for_each(several->begin(), several->end(), add);
    return axes;
  }

  // Whether a reshape leaves each row of the history in its place: whether as many elements are before the history's axis.
  bool keeps_rows(const Node& reshape) const {
    const auto before = [&](ValueId v) {
      const Shape& shape = body_.type(v).shape;
      const auto axis = std::find_if(shape.begin(), shape.end(), [&](const Dim& d) { return is_history_axis(d); });
      return element_count(Shape(shape.begin(), axis));
    };
    return before(reshape.inputs[0]) == before(reshape.outputs[0]);
  }

  // Whether rows after the current step affect only the same rows of the node's result.
  bool stops_at_present(const Node& node) const {
    std::ptrdiff_t most = 0, operands = 0;
    for (ValueId v : node.inputs) {
      const std::ptrdiff_t axes = v == kNone ? 0 : history_axes(v);
      most = std::max(most, axes), operands += axes > 0;
    }
    if (most == 0) return true;
    if (most > 1 || !node.regions.empty() || node.outputs.size() != 1) return false;
    const bool keeps = history_axes(node.outputs[0]) == 1;
    switch (node.op->access) {
      case Access::kElementwise: return keeps;
      case Access::kRearrange:
        return keeps && operands == 1 && node.inputs.size() == 1 && (!ir::plays(node, ir::Role::kReshape) || keeps_rows(node));
      case Access::kProduct: return keeps && operands == 1;
      case Access::kReduction: break;
      case Access::kLookup:
      case Access::kOther: return false;
    }
    if (!node.attributes.has("axis")) return false;
    const Shape& shape = body_.type(node.inputs[0]).shape;
    for (std::size_t axis : axes_of(node, shape.size())) {
      if (!is_history_axis(shape[axis])) continue;
      const int lengths = node.op->input_index("lengths");
      return lengths >= 0 && is_at_most_present(node.inputs[static_cast<std::size_t>(lengths)]);
    }
    return keeps;
  }

  bool stop_at_present() const {
    return std::all_of(body_.nodes.begin(), body_.nodes.end(), [&](const Node& node) {
      return plan_.rows.count(node.outputs.empty() ? kNone : node.outputs[0]) != 0 || stops_at_present(node);
    });
  }

  bool assign_levels() {
    plan_.level.assign(body_.values.size(), 0), plan_.local.assign(body_.values.size(), false);
    stuck_.assign(body_.values.size(), false), recurs_ = stuck_, sequence_ = stuck_;
    for (std::size_t i = 0; i < body_.inputs.size(); ++i) {
      const std::size_t v = index(body_.inputs[i].value);
      plan_.local[v] = i >= l_.invariant_begin();
      sequence_[v] = !plan_.local[v] && i >= l_.each_begin();
    }
    const std::vector<RecurrenceGroup> groups = recurrence_groups(scan_, is_history_);
    return std::all_of(groups.begin(), groups.end(), [&](const RecurrenceGroup& group) {
      return group.states.empty() ? assign_level(body_.nodes[group.nodes[0]]) : assign_level(group);
    });
  }

  // Calls `visit` for each operand that one of the new loops computes.
  template <class Visit>
  void each_made(const Node& node, const Visit& visit) const {
    for (ValueId v : node.inputs) {
      if (v != kNone && !plan_.local[index(v)]) visit(v);
    }
  }
  bool may_cross(ValueId v) const {
    return sequence_[index(v)] || plan_.rows.count(v) != 0 || may_be_stacked(body_.type(v).shape);
  }

  // Assigns a level to states that are not histories and to the nodes of their recurrence. False if the recurrence contains a
  // product or a history; the loop then stays whole.
  bool assign_level(const RecurrenceGroup& group) {
    if (is_history_[group.states[0]]) return true;  // its put is in another group, which sets the level
    int level = 0;
    for (std::size_t n : group.nodes) {
      const Node& node = body_.nodes[n];
      const bool gathers = !node.outputs.empty() && plan_.rows.count(node.outputs[0]) != 0;
      if (gathers || node.op->update || node.op->access == Access::kProduct || !node.regions.empty()) return false;
      each_made(node, [&](ValueId v) { level = std::max(level, plan_.level[index(v)]); });
    }
    for (std::size_t s : group.states) level = std::max(level, plan_.level[index(body_.outputs[s].value)]);
    const auto recur = [&](ValueId v) {
      plan_.level[index(v)] = level;
      recurs_[index(v)] = true, stuck_[index(v)] = !may_be_stacked(body_.type(v).shape);
    };
    for (std::size_t s : group.states) recur(body_.inputs[s].value);
    plan_.loops = std::max(plan_.loops, level + 1);
    bool kept = true;
    for (std::size_t n : group.nodes) {
      const Node& node = body_.nodes[n];
      each_made(node, [&](ValueId v) { kept = kept && (plan_.level[index(v)] == level || may_cross(v)); });
      for (ValueId v : node.outputs) recur(v);
    }
    return kept;
  }

  // Assigns a level to a node. False if one loop would have to save a value for another that is too large to be saved.
  bool assign_level(const Node& node) {
    if (!node.outputs.empty() && plan_.rows.count(node.outputs[0])) {
      const ValueId row = node.inputs[1];
      place(node, plan_.level[index(row)] + 1);
      return sequence_[index(row)] || may_be_stacked(body_.type(row).shape);
    }
    if (node.op->update) return false;
    int level = 0;
    bool local = !draws(node);
    each_made(node, [&](ValueId v) { local = false, level = std::max(level, plan_.level[index(v)]); });
    level += begins_loop(node, level);
    bool stuck = false, recurs = false, kept = true;
    each_made(node, [&](ValueId v) {
      const bool here = plan_.level[index(v)] == level;
      stuck = stuck || (here && stuck_[index(v)]), recurs = recurs || (here && recurs_[index(v)]);
      kept = kept && (here || may_cross(v));
    });
    place(node, level);
    for (ValueId v : node.outputs) {
      plan_.local[index(v)] = local;
      stuck_[index(v)] = !local && (stuck || !may_be_stacked(body_.type(v).shape));
      recurs_[index(v)] = !local && recurs;
    }
    return kept;
  }

  // Whether a node that reads values of this level's loop should move to the next loop.
  bool begins_loop(const Node& node, int level) const {
    bool stuck = false, recurs = false, shrinks = false;
    each_made(node, [&](ValueId v) {
      const bool here = plan_.level[index(v)] == level;
      stuck = stuck || (here && stuck_[index(v)]), recurs = recurs || (here && recurs_[index(v)]);
      shrinks = shrinks || (here && recurs_[index(v)] && is_smaller(body_.type(node.outputs[0]).shape, body_.type(v).shape));
    });
    // A product that turns a recurrent matrix into a vector stays: otherwise the matrix would have to be saved for all steps.
    if (node.op->access == Access::kProduct) return stuck || (recurs && !shrinks);
    // A reduction to fewer elements stays: otherwise its larger operand would have to be saved.
    return node.op->access == Access::kReduction && recurs && !stuck &&
           body_.type(node.inputs[0]) == body_.type(node.outputs[0]);
  }

  void place(const Node& node, int level) {
    for (ValueId v : node.outputs) plan_.level[index(v)] = level;
    plan_.loops = std::max(plan_.loops, level + 1);
  }

  void write_steps(Graph& body) const {
    std::map<Symbol, Dim> by;
    for (Symbol size : sizes_) by.emplace(size, scan_.attributes.dim("steps"));
    body = ir::substituted(std::move(body), by);
  }

  const Node& scan_;
  const std::vector<bool>& read_;
  const Graph& body_;
  const ir::ScanLayout l_;
  const ValueId step_;
  std::vector<bool> is_history_;  // by state
  std::set<Symbol> sizes_;        // of histories
  std::vector<bool> stuck_;       // by value: too large to pass to another loop, or computed from such a value
  std::vector<bool> recurs_;      // by value: depends on a state of its loop
  std::vector<bool> sequence_;    // by value: a sequence that exists outside, however large
  DivisionPlan plan_;
};

}  // namespace

DivisionPlan plan_division(const Node& scan, const std::vector<bool>& read) { return Planner(scan, read).run(); }

}  // namespace graphrun
