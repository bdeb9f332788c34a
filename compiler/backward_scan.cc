#include "compiler/backward_scan.h"

#include <string>
#include <utility>

#include "compiler/ir/transplant.h"
#include "compiler/tape.h"

namespace graphrun {
namespace {

using ir::Builder;
using ir::kNone;
using ir::TensorType;
using ir::Transplant;
using ir::ValueId;
using Sequence = BackwardScanPlan::Sequence;

// Finds what the backward body reads from the forward part.
class Reads {
 public:
  Reads(const JointBody& joint, const Recomputable& again)
      : joint_(joint), again_(again), seen_(joint.seeds.begin(), joint.seeds.end()) {
    for (std::size_t n = joint.forward_nodes; n < joint.graph.nodes.size(); ++n) {
      for (ValueId v : joint.graph.nodes[n].inputs) read(v);
    }
    for (ValueId v : joint.d_inputs) read(v);
  }

  std::set<ValueId> values;          // the values to pass in
  std::set<std::size_t> recomputed;  // nodes that the backward body recomputes from them

 private:
  void read(ValueId root) {
    std::vector<ValueId> stack = {root};
    while (!stack.empty()) {
      const ValueId v = stack.back();
      stack.pop_back();
      if (v == kNone || !seen_.insert(v).second) continue;
      const std::int32_t n = joint_.graph.value(v).node;
      if (n >= static_cast<std::int32_t>(joint_.forward_nodes)) continue;
      if (n >= 0 && again_(v)) {
        recomputed.insert(static_cast<std::size_t>(n));
        for (ValueId x : joint_.graph.nodes[static_cast<std::size_t>(n)].inputs) stack.push_back(x);
      } else {
        values.insert(v);
      }
    }
  }

  const JointBody& joint_;
  const Recomputable& again_;
  std::set<ValueId> seen_;
};

// The position of v among the inputs, or their number if it is not an input.
std::size_t input_index(const ir::Graph& graph, ValueId v) {
  if (graph.value(v).node >= 0) return graph.inputs.size();
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].value == v) return i;
  }
  return graph.inputs.size();
}

// Builds the backward body, input by input in the order of the plan.
ir::Graph backward_body(const JointBody& joint, const BackwardScanPlan& plan, const Location& at) {
  const ir::Graph& from = joint.graph;
  ir::Graph body;
  body.name = "d." + from.name;
  Transplant t(from, body);
  Builder& b = t.builder();
  b.set_location(at);
  const auto input = [&](ValueId v) { t.map(v, b.input(from.value(v).name, from.type(v))); };
  for (std::size_t s : plan.states) input(joint.seeds[s]);
  std::vector<ValueId> sums;
  for (std::size_t i : plan.sums) {
    const ValueId v = from.inputs[i].value;
    sums.push_back(b.input("sum.d." + from.value(v).name, from.type(v)));
  }
  for (const Sequence& s : plan.sequences) input(s.value);
  for (std::size_t i : plan.invariants) input(from.inputs[i].value);
  t.map(from.inputs.back().value, b.input("step", {Type::kInt32, {}}));

  for (std::size_t n : plan.recomputed) t.copy(n);
  for (std::size_t n = joint.forward_nodes; n < from.nodes.size(); ++n) t.copy(n);

  for (std::size_t s : plan.states) {
    const ValueId d = joint.d_inputs[s];
    const ValueId next = d == kNone ? b.zeros(from.type(joint.seeds[s])) : t(d);
    body.outputs.push_back({from.value(joint.seeds[s]).name, next});
  }
  for (std::size_t k = 0; k < sums.size(); ++k) {
    b.set_name("sum");
    const ValueId next = b.op("add", {sums[k], t(joint.d_inputs[plan.sums[k]])});
    body.outputs.push_back({body.value(sums[k]).name, next});
  }
  for (std::size_t i : plan.d_slices) {
    body.outputs.push_back({"d." + from.value(from.inputs[i].value).name, t(joint.d_inputs[i])});
  }
  return body;
}

std::string name_saved(const ir::Graph& graph, ValueId v) { return "saved." + graph.value(v).name; }

// The forward body, with the values that the plan saves as further outputs.
ir::Graph forward_body(const JointBody& joint, const std::vector<ValueId>& saved) {
  const ir::Graph& from = joint.graph;
  ir::Graph body;
  body.name = from.name;
  Transplant t(from, body);
  for (const ir::Input& i : from.inputs) {
    t.map(i.value, t.builder().input(from.value(i.value).name, from.type(i.value)));
    body.inputs.back() = {body.inputs.back().value, i.below, i.lengths_of};
  }
  for (std::size_t n = 0; n < joint.forward_nodes; ++n) t.copy(n);
  for (const ir::Output& o : from.outputs) body.outputs.push_back({o.name, t(o.value)});
  for (ValueId v : saved) body.outputs.push_back({name_saved(from, v), t(v)});
  return body;
}

// Adds the saved values to the results of the scan and returns them.
std::vector<ValueId> hand_out(Builder& b, std::size_t index, const JointBody& joint, const std::vector<ValueId>& saved) {
  ir::Graph& g = b.graph();
  g.nodes[index].regions[0] = forward_body(joint, saved);
  std::vector<ValueId> results;
  for (ValueId v : saved) {
    TensorType type = joint.graph.type(v);
    type.shape.insert(type.shape.begin(), g.nodes[index].attributes.dim("steps"));
    const ValueId result = b.value(name_saved(joint.graph, v), std::move(type));
    g.value(result).node = static_cast<std::int32_t>(index);
    g.value(result).result = static_cast<std::int32_t>(g.nodes[index].outputs.size());
    g.nodes[index].outputs.push_back(result);
    results.push_back(result);
  }
  return results;
}

}  // namespace

std::vector<ValueId> BackwardScanPlan::saved() const {
  std::vector<ValueId> values;
  for (const Sequence& s : sequences) {
    if (s.kind == Sequence::Kind::kSaved) values.push_back(s.value);
  }
  return values;
}

BackwardScanPlan plan_backward_scan(const JointBody& joint, bool recompute) {
  const ir::ScanLayout& l = joint.layout;
  BackwardScanPlan plan;
  for (std::size_t s = 0; s < l.states; ++s) {
    if (joint.seeds[s] != kNone) plan.states.push_back(s);
  }
  for (std::size_t i = l.invariant_begin(); i < l.step(); ++i) {
    if (joint.d_inputs[i] != kNone) plan.sums.push_back(i);
  }
  for (std::size_t i = l.each_begin(); i < l.invariant_begin(); ++i) {
    if (joint.d_inputs[i] != kNone) plan.d_slices.push_back(i);
  }
  for (std::size_t o = l.states; o < joint.seeds.size(); ++o) {
    if (joint.seeds[o] != kNone) plan.sequences.push_back({Sequence::Kind::kOutputGradient, joint.seeds[o], o});
  }
  const Recomputable again(joint.graph, joint.forward_nodes, l);
  Reads reads(joint, again);
  plan.recomputed = std::move(reads.recomputed);
  std::set<ValueId> values = std::move(reads.values);
  if (recompute) {
    const Sources sources(joint.graph, joint.forward_nodes, l, again);
    values = sources.instead_of(values, plan.recomputed, plan.instead);
  }
  for (ValueId v : values) {
    const std::size_t i = input_index(joint.graph, v);
    if (i == l.step()) continue;
    if (i < l.step() && i >= l.invariant_begin()) {
      plan.invariants.push_back(i);
    } else if (i < l.step() && i >= l.each_begin()) {
      plan.sequences.push_back({Sequence::Kind::kSlice, v, i});
    } else {
      plan.sequences.push_back({Sequence::Kind::kSaved, v});
    }
  }
  return plan;
}

TapeDecision decision_of(const JointBody& joint, const BackwardScanPlan& plan, const Dim& steps) {
  const ir::Graph& g = joint.graph;
  TapeDecision decision{g.name, steps, {}, {}, {}};
  const auto named = [&](ValueId v) { return TapeDecision::TapedValue{g.value(v).name, g.type(v)}; };
  for (ValueId v : plan.saved()) decision.saved.push_back(named(v));
  for (ValueId v : plan.instead) decision.instead.push_back(named(v));
  std::set<ValueId> read;
  for (std::size_t n = joint.forward_nodes; n < g.nodes.size(); ++n) {
    for (ValueId v : g.nodes[n].inputs) {
      const std::int32_t made = v == kNone ? -1 : g.value(v).node;
      const bool again = made >= 0 && plan.recomputed.count(static_cast<std::size_t>(made)) != 0;
      if (again && !g.type(v).shape.empty() && read.insert(v).second) decision.recomputed.push_back(named(v));
    }
  }
  return decision;
}

std::vector<OperandGradient> build_backward_scan(Builder& b, std::size_t index, const JointBody& joint,
                                                 const BackwardScanPlan& plan, const std::vector<ValueId>& d_outputs) {
  ir::Graph& g = b.graph();
  const Location at = g.nodes[index].at;
  const std::vector<ValueId> forward = g.nodes[index].inputs;
  ir::Graph body = backward_body(joint, plan, at);
  if (body.outputs.empty()) return {};  // return before the forward scan gets results that would never be read
  const std::vector<ValueId> saved = hand_out(b, index, joint, plan.saved());

  b.set_location(at);
  b.set_name("d." + joint.graph.name);
  std::vector<ValueId> operands;
  for (std::size_t s : plan.states) {
    operands.push_back(d_outputs[s] != kNone ? d_outputs[s] : b.zeros(joint.graph.type(joint.seeds[s])));
  }
  for (std::size_t i : plan.sums) operands.push_back(b.zeros(joint.graph.type(joint.graph.inputs[i].value)));
  const std::size_t states = operands.size();
  auto next_saved = saved.begin();
  for (const Sequence& s : plan.sequences) {
    switch (s.kind) {
      case Sequence::Kind::kOutputGradient: operands.push_back(d_outputs[s.at]); break;
      case Sequence::Kind::kSlice: operands.push_back(forward[s.at]); break;
      case Sequence::Kind::kSaved: operands.push_back(*next_saved++); break;
    }
  }
  for (std::size_t i : plan.invariants) operands.push_back(forward[i]);

  const Dim steps = g.nodes[index].attributes.dim("steps");
  const bool reverse = g.nodes[index].attributes.boolean("reverse");
  const std::vector<ValueId> results =
      b.scan(std::move(operands), std::move(body), states, plan.sequences.size(), steps, !reverse);
  std::vector<OperandGradient> gradients;
  for (const std::vector<std::size_t>* of : {&plan.states, &plan.sums, &plan.d_slices}) {
    for (std::size_t operand : *of) gradients.push_back({operand, results[gradients.size()]});
  }
  return gradients;
}

}  // namespace graphrun
