#include "compiler/passes/dead_code.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/ir/sizes.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::ValueId;

// A graph or the body of a scan, and what is known to be needed in it.
struct LiveRegion {
  Graph* graph = nullptr;
  LiveRegion* outer = nullptr;  // null for the root
  std::size_t scan = 0;         // the node in `outer` whose body this is
  ScanLayout layout;
  std::vector<bool> node_live, value_live;
  std::vector<std::int32_t> input;  // a value's position among the inputs, or -1
  std::vector<LiveRegion*> body;    // of each node; null if it is not a scan

  Node& scan_node() const { return outer->graph->nodes[scan]; }
};

// Walks from the required values to what they need, into and out of scans; visits each value once.
class Liveness {
 public:
  Liveness(Graph& root, bool keep_interface) {
    add(root, nullptr, 0);
    for (std::size_t i = 0; i < regions_.size(); ++i) add_bodies(regions_[i]);
    LiveRegion& top = regions_[0];
    for (const ir::Output& o : root.outputs) mark(top, o.value);
    for (const ir::Variable& v : root.variables) {
      next_.resize(root.values.size(), kNone);
      next_[index(v.value)] = v.next;
      if (keep_interface) mark(top, v.value);
    }
    for (const ir::Input& i : root.inputs) {
      if (keep_interface) mark(top, i.value);
    }
    for (LiveRegion& r : regions_) mark_updates(r);
    while (!work_.empty()) {
      const auto [region, value] = work_.back();
      work_.pop_back();
      visit(*region, value);
    }
  }

  // Removes what was not reached, innermost regions first; returns whether it removed anything.
  bool sweep() {
    bool changed = false;
    for (std::size_t i = regions_.size(); i-- > 0;) changed = sweep(regions_[i]) || changed;
    return changed;
  }

 private:
  using Index = std::size_t;
  static Index index(ValueId v) { return static_cast<Index>(v); }

  LiveRegion& add(Graph& graph, LiveRegion* outer, std::size_t scan) {
    LiveRegion& r = regions_.emplace_back();
    r.graph = &graph, r.outer = outer, r.scan = scan;
    if (outer) r.layout = ir::scan_layout(r.scan_node());
    r.node_live.resize(graph.nodes.size());
    r.value_live.resize(graph.values.size());
    r.input.resize(graph.values.size(), -1);
    for (Index i = 0; i < graph.inputs.size(); ++i) r.input[index(graph.inputs[i].value)] = static_cast<std::int32_t>(i);
    return r;
  }

  void add_bodies(LiveRegion& r) {
    r.body.resize(r.graph->nodes.size(), nullptr);
    for (Index n = 0; n < r.graph->nodes.size(); ++n) {
      Node& node = r.graph->nodes[n];
      if (ir::is_scan(node)) r.body[n] = &add(node.regions[0], &r, n);
    }
  }

  void mark(LiveRegion& r, ValueId v) {
    if (v == kNone || r.value_live[index(v)]) return;
    r.value_live[index(v)] = true;
    work_.emplace_back(&r, v);
  }

  void mark_updates(LiveRegion& r) {
    if (r.outer) mark(r, r.graph->inputs[r.layout.step()].value);  // the step's place is fixed
    for (Index n = 0; n < r.graph->nodes.size(); ++n) {
      if (!r.graph->nodes[n].op->update) continue;
      mark_node(r, n);
      for (LiveRegion* in = &r; in->outer; in = in->outer) in->outer->node_live[in->scan] = true;
    }
  }

  void mark_node(LiveRegion& r, Index n) {
    if (r.node_live[n]) return;
    r.node_live[n] = true;
    const Node& node = r.graph->nodes[n];
    for (ValueId v : node.outputs) r.value_live[index(v)] = true;
    for (ValueId v : node.inputs) mark(r, v);
  }

  void visit(LiveRegion& r, ValueId v) {
    const ir::Value& value = r.graph->value(v);
    if (value.node < 0) {
      if (r.outer) {
        visit_body_input(r, static_cast<Index>(r.input[index(v)]));
      } else if (!next_.empty()) {
        mark(r, next_[index(v)]);
      }
      return;
    }
    const auto n = static_cast<Index>(value.node);
    if (!r.body[n]) return mark_node(r, n);
    r.node_live[n] = true;
    LiveRegion& body = *r.body[n];
    const auto k = static_cast<Index>(value.result);
    mark(body, k < body.layout.states ? body.graph->inputs[k].value : body.graph->outputs[k].value);
  }

  void visit_body_input(LiveRegion& body, Index position) {
    if (position == body.layout.step()) return;
    const Node& scan = body.scan_node();
    mark(*body.outer, scan.inputs[position]);
    if (position >= body.layout.states) return;
    mark(body, body.graph->outputs[position].value);  // a state needs its next value
    mark(*body.outer, scan.outputs[position]);        // and keeps its position among the results
  }

  bool sweep(LiveRegion& r) {
    if (r.outer) trim_scan(r);
    // The body of a dead scan is removed with the scan.
    for (LiveRegion* in = &r; in->outer; in = in->outer) {
      if (!in->outer->node_live[in->scan]) return true;
    }
    bool changed = false;
    for (bool live : r.node_live) changed = changed || !live;
    for (bool live : r.value_live) changed = changed || !live;
    if (changed) compact(*r.graph, r.node_live, r.value_live);
    return changed;
  }

  // Removes the scan's operands that the body does not need, and the body's outputs that are never read.
  void trim_scan(LiveRegion& body) {
    Node& scan = body.scan_node();
    const ScanLayout& l = body.layout;
    const auto input_live = [&](Index i) { return bool{body.value_live[index(body.graph->inputs[i].value)]}; };
    std::vector<ValueId> inputs;
    std::int64_t states = 0, each = 0;
    for (Index i = 0; i < scan.inputs.size(); ++i) {
      if (!input_live(i)) continue;
      inputs.push_back(scan.inputs[i]);
      states += i < l.states;
      each += i >= l.each_begin() && i < l.invariant_begin();
    }
    std::vector<ir::Output> outputs;
    for (Index k = 0; k < body.graph->outputs.size(); ++k) {
      const bool live = k < l.states ? input_live(k) : bool{body.outer->value_live[index(scan.outputs[k])]};
      if (live) outputs.push_back(std::move(body.graph->outputs[k]));
    }
    scan.inputs = std::move(inputs);
    body.graph->outputs = std::move(outputs);
    scan.attributes.set("states", states);
    scan.attributes.set("each", each);
  }

  std::deque<LiveRegion> regions_;  // outer before inner; a deque, since elements must not move
  std::vector<std::pair<LiveRegion*, ValueId>> work_;
  std::vector<ValueId> next_;  // the next values of the root's variables
};

}  // namespace

PassResult dead_code(Graph graph) {
  const bool changed = Liveness(graph, true).sweep();
  return {std::move(graph), changed};
}

Graph drop_unneeded(Graph graph) {
  struct Known {
    ir::Value value;
    ir::Input input;
  };
  std::vector<Known> all;
  for (const ir::Input& input : graph.inputs) all.push_back({graph.value(input.value), input});
  if (!Liveness(graph, false).sweep()) return graph;
  // An unread input stays if nothing else determines a size; of several such inputs, the first stays.
  for (std::set<Symbol> unknown = ir::unknown_sizes(graph); !unknown.empty();) {
    const auto tells = std::find_if(all.begin(), all.end(), [&](const Known& known) {
      return std::any_of(unknown.begin(), unknown.end(), [&](Symbol s) { return ir::tells_size(known.value.type.shape, s); });
    });
    if (tells == all.end()) break;  // only a state has this size
    ir::Input input = tells->input;
    input.value = static_cast<ValueId>(graph.values.size());
    graph.values.push_back(tells->value);
    graph.inputs.push_back(input);
    unknown = ir::unknown_sizes(graph);
  }
  return graph;
}

}  // namespace graphrun
