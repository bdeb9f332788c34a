#include "compiler/passes/parallelize_history.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/ir/transplant.h"
#include "compiler/rewrite/history_plan.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;

// Rewrites one scan as several.
class Division {
 public:
  Division(Rebuild& rebuild, Node scan, DivisionPlan plan)
      : r_(rebuild), scan_(std::move(scan)), plan_(std::move(plan)), body_(plan_.body), l_(scan_layout(scan_)) {}

  void run() {
    r_.rewire(scan_);
    whole_.assign(body_.values.size(), kNone);
    for (std::size_t i = l_.each_begin(); i < l_.invariant_begin(); ++i) whole_[index(body_.inputs[i].value)] = scan_.inputs[i];
    for (int level = 0; level < plan_.loops; ++level) emit(level);
    for (std::size_t k = l_.states; k < scan_.outputs.size(); ++k) {
      r_.replace(scan_.outputs[k], whole_[index(body_.outputs[k].value)]);
    }
  }

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }
  bool is_history(ValueId v) const { return plan_.rows.count(v) != 0; }
  bool is_put(const Node& node) const { return !node.outputs.empty() && is_history(node.outputs[0]); }
  bool is_local(const Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return bool{plan_.local[index(v)]}; });
  }
  int level_of(const Node& node) const { return node.outputs.empty() ? 0 : plan_.level[index(node.outputs[0])]; }

  // The values of this level's loop that are read outside it: by later loops, as rows of histories, or as results.
  std::vector<ValueId> handed_on(int level) const {
    std::vector<bool> wanted(body_.values.size());
    const auto want = [&](ValueId v) {
      if (v != kNone && !is_history(v) && whole_[index(v)] == kNone && plan_.level[index(v)] == level) wanted[index(v)] = true;
    };
    for (const Node& node : body_.nodes) {
      if (is_put(node)) {
        want(node.inputs[1]);
      } else if (!is_local(node) && level_of(node) > level) {
        for (ValueId v : node.inputs) {
          if (v != kNone && !plan_.local[index(v)]) want(v);
        }
      }
    }
    for (std::size_t k = l_.states; k < body_.outputs.size(); ++k) want(body_.outputs[k].value);
    std::vector<ValueId> values;
    for (std::size_t v = 0; v < wanted.size(); ++v) {
      if (wanted[v]) values.push_back(static_cast<ValueId>(v));
    }
    return values;
  }

  // The states of this level's loop, without histories.
  std::vector<std::size_t> states_of(int level) const {
    std::vector<std::size_t> states;
    for (std::size_t s = 0; s < l_.states; ++s) {
      if (!is_history(body_.outputs[s].value) && plan_.level[index(body_.inputs[s].value)] == level) states.push_back(s);
    }
    return states;
  }

  // The nodes of the loop that computes these results: nodes of its level, and the local nodes that they read.
  std::vector<bool> nodes_for(const std::vector<ValueId>& results, int level, std::vector<bool>& read) const {
    std::vector<bool> nodes(body_.nodes.size());
    for (ValueId v : results) read[index(v)] = true;
    for (std::size_t n = body_.nodes.size(); n-- > 0;) {
      const Node& node = body_.nodes[n];
      const bool here = !is_put(node) && (is_local(node) || level_of(node) == level);
      nodes[n] = here && std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return bool{read[index(v)]}; });
      if (!nodes[n]) continue;
      for (ValueId v : node.inputs) {
        if (v != kNone) read[index(v)] = true;
      }
    }
    return nodes;
  }

  void emit(int level) {
    const std::vector<ValueId> results = handed_on(level);
    const std::vector<std::size_t> states = states_of(level);
    if (results.empty() && states.empty()) return;
    std::vector<ValueId> made_here;
    for (std::size_t s : states) made_here.push_back(body_.outputs[s].value);
    made_here.insert(made_here.end(), results.begin(), results.end());
    std::vector<bool> read(body_.values.size());
    const std::vector<bool> nodes = nodes_for(made_here, level, read);
    Graph loop;
    loop.name = body_.name;
    ir::Transplant in(body_, loop);
    std::vector<ValueId> operands;
    const auto add = [&](ValueId v, ValueId operand) {
      in.map(v, in.builder().input(body_.value(v).name, body_.type(v)));
      if (operand != kNone) operands.push_back(operand);
    };
    for (std::size_t s : states) add(body_.inputs[s].value, scan_.inputs[s]);
    // Sequences are sliced inputs and results of earlier loops. A history is a whole sequence, the same at every step.
    for (std::size_t v = 0; v < body_.values.size(); ++v) {
      if (read[v] && whole_[v] != kNone && !plan_.local[v]) add(static_cast<ValueId>(v), whole_[v]);
    }
    const std::size_t each = operands.size() - states.size();
    for (std::size_t i = l_.invariant_begin(); i < l_.step(); ++i) {
      if (read[index(body_.inputs[i].value)]) add(body_.inputs[i].value, scan_.inputs[i]);
    }
    for (const auto& [history, row] : plan_.rows) {
      if (read[index(history)]) add(history, whole_[index(row)]);
    }
    add(body_.inputs[l_.step()].value, kNone);
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      if (nodes[n]) in.copy(n);
    }
    for (std::size_t s : states) loop.outputs.push_back({body_.outputs[s].name, in(body_.outputs[s].value)});
    for (ValueId v : results) loop.outputs.push_back({body_.value(v).name, in(v)});
    ir::Builder& b = r_.builder();
    b.set_location(scan_.at);
    b.set_name("");
    const std::vector<ValueId> made = b.scan(std::move(operands), std::move(loop), states.size(), each,
                                             scan_.attributes.dim("steps"), scan_.attributes.boolean("reverse"));
    for (std::size_t k = 0; k < states.size(); ++k) r_.replace(scan_.outputs[states[k]], made[k]);
    for (std::size_t k = 0; k < results.size(); ++k) whole_[index(results[k])] = made[states.size() + k];
  }

  Rebuild& r_;
  Node scan_;
  const DivisionPlan plan_;
  const Graph& body_;
  const ir::ScanLayout l_;
  std::vector<ValueId> whole_;  // by value of the body: the value outside, for all steps
};

std::vector<bool> read_in(const Graph& graph) {
  std::vector<bool> read(graph.values.size());
  const auto mark = [&](ValueId v) {
    if (v != kNone) read[static_cast<std::size_t>(v)] = true;
  };
  for (const Node& node : graph.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), mark);
  for (const ir::Output& o : graph.outputs) mark(o.value);
  for (const ir::Variable& v : graph.variables) mark(v.next);
  return read;
}

bool divide_in(Graph& graph) {
  bool any = false;
  const std::vector<bool> read = read_in(graph);
  std::vector<DivisionPlan> plans(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!ir::is_scan(graph.nodes[n])) continue;
    plans[n] = plan_division(graph.nodes[n], read);
    any = any || plans[n].possible;
  }
  if (!any) return false;
  Rebuild rebuild(graph);
  for (std::size_t n = 0; n < plans.size(); ++n) {
    Node& node = rebuild.old_nodes()[n];
    if (plans[n].possible) {
      Division(rebuild, std::move(node), std::move(plans[n])).run();
    } else {
      rebuild.keep(std::move(node));
    }
  }
  rebuild.finish();
  return true;
}

}  // namespace

PassResult parallelize_history(Graph graph) {
  const bool changed = rewrite_inner_first(graph, [](Graph& g, const Node*) { return divide_in(g); });
  return {std::move(graph), changed};
}

}  // namespace graphrun
