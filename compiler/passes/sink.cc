#include "compiler/passes/sink.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/passes/dead_code.h"
#include "compiler/rewrite/around_scan.h"
#include "compiler/rewrite/remake.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::ValueId;

// The terms of a state that only adds them up.
struct Accumulation {
  std::size_t state;
  std::vector<ValueId> go, stay;  // terms
};

class Accumulations {
 public:
  explicit Accumulations(const Node& scan) : body_(scan.regions[0]), l_(scan_layout(scan)), readers_(body_.values.size()) {
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      for (ValueId v : body_.nodes[n].inputs) {
        if (v != kNone) ++readers_[index(v)];
      }
    }
    for (const ir::Output& o : body_.outputs) ++readers_[index(o.value)];
    for (std::size_t s = 0; s < l_.states; ++s) look_at(s);
  }
  std::vector<Accumulation> found;

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }

  // The terms of nested additions that are read only once. Empty if one of them has another type than the state (a broadcast).
  std::vector<ValueId> terms_of(ValueId sum) const {
    std::vector<ValueId> terms, open = {sum};
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (body_.type(v) != body_.type(sum)) return {};
      const Node* node = ir::made_by(body_, v, ir::Role::kAdd);
      if (node && readers_[index(v)] == 1) {
        open.insert(open.end(), node->inputs.rbegin(), node->inputs.rend());  // so that the first is visited first
      } else {
        terms.push_back(v);
      }
    }
    return terms;
  }

  void look_at(std::size_t s) {
    const ValueId before = body_.inputs[s].value, next = body_.outputs[s].value;
    if (body_.type(before).type != Type::kFloat || readers_[index(before)] != 1 || before == next) return;
    const std::vector<ValueId> terms = terms_of(next);
    if (std::count(terms.begin(), terms.end(), before) != 1) return;
    Accumulation found_here{s, {}, {}};
    for (ValueId v : terms) {
      if (v != before) (goes(v) ? found_here.go : found_here.stay).push_back(v);
    }
    if (!found_here.go.empty()) found.push_back(std::move(found_here));
  }

  bool goes(ValueId v) const {
    const Node* node = ir::producer(body_, v);
    if (!node || !node->op->sums || readers_[index(v)] != 1) return false;
    return std::all_of(node->inputs.begin(), node->inputs.end(), [&](ValueId x) { return x == kNone || may_be_kept(x); });
  }
  bool may_be_kept(ValueId v) const {
    for (std::size_t i = l_.each_begin(); i < l_.invariant_begin(); ++i) {
      if (body_.inputs[i].value == v) return true;
    }
    return may_be_stacked(body_.type(v).shape);
  }

  const Graph& body_;
  const ScanLayout l_;
  std::vector<int> readers_;
};

// Rewrites one scan: its body returns more values, and sums over them follow the loop.
class Sinking {
 public:
  Sinking(Rebuild& rebuild, Node scan) : r_(rebuild), scan_(std::move(scan)), steps_(scan_.attributes.dim("steps")) {}

  void run() {
    const std::vector<Accumulation> all = Accumulations(scan_).found;
    if (all.empty()) return r_.keep(std::move(scan_));
    r_.rewire(scan_);
    const ScanLayout l = ir::scan_layout(scan_);
    Graph& body = scan_.regions[0];
    for (std::size_t i = l.each_begin(); i < l.invariant_begin(); ++i) outside_[body.inputs[i].value] = scan_.inputs[i];
    for (std::size_t k = l.states; k < body.outputs.size(); ++k) outside_.emplace(body.outputs[k].value, scan_.outputs[k]);
    const BodyDependence dependence = dependence_in_body(scan_);
    for (const Accumulation& a : all) {
      for (ValueId v : a.go) hand_out(v, dependence);
    }
    for (const Accumulation& a : all) {
      ir::Builder inside(body);
      ValueId next = body.inputs[a.state].value;
      for (ValueId v : a.stay) next = add(inside, next, v);
      body.outputs[a.state].value = next;
    }
    const std::vector<ValueId> outputs = scan_.outputs;
    const Node scan = scan_;  // a copy, since its body is read below
    r_.keep(std::move(scan_));
    make_again(scan);
    for (const Accumulation& a : all) {
      // The whole sum takes the name of the final state, so what the loop still adds up gets another name.
      ir::Builder& b = r_.builder();
      ValueId sum = a.stay.empty() ? scan.inputs[a.state] : outputs[a.state];
      if (a.stay.empty() && ir::is_zeros(b.graph(), sum)) sum = kNone;
      for (ValueId v : a.go) {
        const ValueId term = sum_of(scan, v);
        sum = sum == kNone ? term : add(b, sum, term);
      }
      ends_.emplace_back(outputs[a.state], sum);
    }
    for (const auto& [end, sum] : ends_) r_.replace(end, sum);
  }

 private:
  ValueId add(ir::Builder& b, ValueId x, ValueId y) {
    b.set_name("sum");
    return b.op("add", {x, y});
  }

  const Node& term(const Graph& body, ValueId v) const { return body.nodes[static_cast<std::size_t>(body.value(v).node)]; }

  // Makes the operands of a term results of the scan, unless they are results already. The operand of a reduction is recomputed
  // after the loop if that takes less memory: fused with the reduction, it is never stored.
  void hand_out(ValueId v, const BodyDependence& dependence) {
    const Node& node = term(scan_.regions[0], v);
    const std::vector<ValueId> reads = node.inputs;
    const bool reduces = node.op->access == ir::Access::kReduction;
    for (ValueId x : reads) {
      if (x == kNone || outside_.count(x) != 0 || again_.count(x) != 0) continue;
      std::optional<Remake> again = reduces ? remake_of(scan_, dependence, x) : std::nullopt;
      if (!again) {
        stack(x);
        continue;
      }
      for (ValueId source : again->sources) stack(source);
      again_.emplace(x, std::move(*again));
    }
  }

  void stack(ValueId x) {
    if (outside_.count(x) != 0) return;
    Graph& body = scan_.regions[0];
    ir::TensorType type = body.type(x);
    type.shape.insert(type.shape.begin(), steps_);
    body.outputs.push_back({body.value(x).name, x});
    const ValueId sequence = r_.builder().value(body.value(x).name, std::move(type));
    scan_.outputs.push_back(sequence);
    outside_[x] = sequence;
  }

  void make_again(const Node& scan) {
    if (again_.empty()) return;
    AroundScan around(r_.builder(), scan);
    for (const auto& [v, sequence] : outside_) around.set(v, {sequence, true});
    for (const auto& [x, again] : again_) {
      for (std::size_t n : again.nodes) {
        if (!around.has(scan.regions[0].nodes[n].outputs[0])) around.lift(n);
      }
      outside_[x] = around.sequence(x);
    }
  }

  // Applies the op to sequences, where it sums over the steps too.
  ValueId sum_of(const Node& scan, ValueId v) {
    const Graph& body = scan.regions[0];
    const Node& node = term(body, v);
    std::vector<ValueId> inputs;
    for (ValueId x : node.inputs) inputs.push_back(x == kNone ? kNone : outside_.at(x));
    ir::NamedAttributes attributes;
    for (const auto& [name, value] : node.attributes.all()) attributes.emplace_back(name, value);
    r_.builder().set_location(node.at);
    r_.builder().set_name(body.value(v).name);
    const ValueId sum = r_.builder().node(*node.op, std::move(inputs), attributes)[0];
    GRAPHRUN_CHECK(r_.builder().graph().type(sum) == body.type(v),
                   "'" + node.op->name + "' does not sum over leading axes: " + r_.builder().graph().type(sum).str());
    return sum;
  }

  Rebuild& r_;
  Node scan_;
  const Dim steps_;
  std::map<ValueId, ValueId> outside_;  // values of the body as sequences
  std::map<ValueId, Remake> again_;     // those that are recomputed after the loop
  std::vector<std::pair<ValueId, ValueId>> ends_;
};

}  // namespace

PassResult sink(Graph graph) {
  const bool changed = rewrite_scans(
      graph, [](const Node& scan) { return !Accumulations(scan).found.empty(); },
      [](Rebuild& rebuild, Node scan) { Sinking(rebuild, std::move(scan)).run(); });
  // A product that only a sum needed would stay in its loop: hoist and merge would take it for one that is read.
  if (changed) graph = dead_code(std::move(graph)).graph;
  return {std::move(graph), changed};
}

}  // namespace graphrun
