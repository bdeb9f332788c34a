#include "compiler/differentiate.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/builder.h"
#include "compiler/ir/transplant.h"
#include "compiler/tape.h"

namespace graphrun {
namespace {

using ir::Builder;
using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::TensorType;
using ir::Transplant;
using ir::ValueId;

using Flags = std::vector<char>;              // by value
using Adjoints = std::map<ValueId, ValueId>;  // value -> its gradient so far

bool is_float(const ir::Graph& g, ValueId v) { return v != kNone && g.type(v).type == Type::kFloat; }

void mark_dependents(const ir::Graph& g, std::size_t nodes, Flags& depends);

// Which of a body's inputs depend on what is differentiated by, given those of the scan's operands. A state depends where its
// begin does or, through the body, where its next does.
Flags active_inputs(const Node& scan, const std::vector<bool>& operand_depends) {
  const ir::Graph& body = scan.regions[0];
  const ScanLayout l = scan_layout(scan);
  Flags depends(body.values.size(), 0);
  for (std::size_t i = 0; i < scan.inputs.size(); ++i) {
    const ValueId v = body.inputs[i].value;
    depends[static_cast<std::size_t>(v)] = operand_depends[i] && is_float(body, v);
  }
  while (true) {
    Flags all = depends;
    mark_dependents(body, body.nodes.size(), all);
    bool changed = false;
    for (std::size_t s = 0; s < l.states; ++s) {
      const ValueId before = body.inputs[s].value, after = body.outputs[s].value;
      if (is_float(body, before) && all[static_cast<std::size_t>(after)] && !depends[static_cast<std::size_t>(before)]) {
        depends[static_cast<std::size_t>(before)] = 1;
        changed = true;
      }
    }
    if (!changed) return depends;
  }
}

std::vector<bool> operand_flags(const Node& node, const Flags& depends) {
  std::vector<bool> out;
  for (ValueId v : node.inputs) out.push_back(v != kNone && depends[static_cast<std::size_t>(v)]);
  return out;
}

// Marks every FLOAT value that the marked ones reach through ops with a gradient.
void mark_dependents(const ir::Graph& g, std::size_t nodes, Flags& depends) {
  for (std::size_t n = 0; n < nodes; ++n) {
    const Node& node = g.nodes[n];
    const std::vector<bool> operands = operand_flags(node, depends);
    if (std::none_of(operands.begin(), operands.end(), [](bool b) { return b; })) continue;
    if (is_scan(node)) {
      const ir::Graph& body = node.regions[0];
      Flags inside = active_inputs(node, operands);
      mark_dependents(body, body.nodes.size(), inside);
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        const ValueId v = node.outputs[o];
        // A state that runs no step ends as it began.
        const bool begins = o < scan_layout(node).states && operands[o];
        const bool flows = begins || inside[static_cast<std::size_t>(body.outputs[o].value)];
        depends[static_cast<std::size_t>(v)] |= flows && is_float(g, v);
      }
    } else if (node.op->gradient) {
      for (ValueId v : node.outputs) depends[static_cast<std::size_t>(v)] |= is_float(g, v);
    }
  }
}

void differentiate_scan(ir::Graph& g, Builder& b, std::size_t index, const Flags& depends, Adjoints& adjoints,
                        const TapeOptions& tape);

void accumulate(const ir::Graph& g, Builder& b, Adjoints& adjoints, ValueId value, ValueId gradient, const char* op) {
  GRAPHRUN_CHECK(g.type(gradient) == g.type(value), std::string("the gradient rule of '") + op + "' gives " +
                                                        g.type(gradient).str() + " for an operand " + g.type(value).str());
  const auto [it, fresh] = adjoints.emplace(value, gradient);
  if (!fresh) it->second = b.op("add", {it->second, gradient});
}

// The generic walk: from the last of the first `nodes` nodes to the first, each adding to the gradients of its operands.
void walk_back(ir::Graph& g, Builder& b, std::size_t nodes, const Flags& depends, Adjoints& adjoints, const TapeOptions& tape) {
  for (std::size_t n = nodes; n-- > 0;) {
    const std::vector<ValueId> outputs = g.nodes[n].outputs;
    std::vector<ValueId> d_outputs;
    bool any = false;
    for (ValueId v : outputs) {
      const auto it = adjoints.find(v);
      d_outputs.push_back(it == adjoints.end() ? kNone : it->second);
      any |= it != adjoints.end();
    }
    const std::vector<bool> needs = operand_flags(g.nodes[n], depends);
    if (!any || std::none_of(needs.begin(), needs.end(), [](bool x) { return x; })) continue;
    b.set_location(g.nodes[n].at);
    b.set_name("d." + g.value(outputs[0]).name);
    if (is_scan(g.nodes[n])) {
      differentiate_scan(g, b, n, depends, adjoints, tape);
      continue;
    }
    const ir::OpSchema& op = *g.nodes[n].op;
    if (!op.gradient) continue;
    const Attributes attributes = g.nodes[n].attributes;
    ir::GradientContext c(b, op, attributes, g.nodes[n].inputs, outputs, std::move(d_outputs), needs);
    op.gradient(c);
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      if (needs[i] && c.d_inputs[i] != kNone) accumulate(g, b, adjoints, c.inputs[i], c.d_inputs[i], op.name.c_str());
    }
  }
}

// One scan's gradient. `joint` is the body with its gradient nodes behind it; it is then cut in two: what came first stays the
// forward body and hands out what the rest, the backward body, reads of it.
class ScanGradient {
 public:
  ScanGradient(ir::Graph& g, Builder& b, std::size_t index, const Flags& depends, Adjoints& adjoints, const TapeOptions& tape)
      : g_(g),
        b_(b),
        index_(index),
        adjoints_(adjoints),
        tape_(tape),
        layout_(scan_layout(g.nodes[index])),
        joint_(g.nodes[index].regions[0]),
        forward_nodes_(joint_.nodes.size()),
        active_(active_inputs(g.nodes[index], operand_flags(g.nodes[index], depends))) {
    outer_needs_ = operand_flags(g.nodes[index], depends);
  }

  void run() {
    differentiate_body();
    build_backward();
    hand_out();
    emit();
  }

 private:
  bool active(std::size_t input) const { return active_[static_cast<std::size_t>(joint_.inputs[input].value)]; }
  ValueId adjoint_of(ValueId v) const {
    const auto it = adjoints_.find(v);
    return it == adjoints_.end() ? kNone : it->second;
  }

  void differentiate_body() {
    Builder jb(joint_);
    Flags depends = active_;
    mark_dependents(joint_, forward_nodes_, depends);
    // Seeds: the gradient that arrives from the step after, and that of this step's outputs.
    seeds_.assign(joint_.outputs.size(), kNone);
    Adjoints inner;
    const std::size_t inputs = joint_.inputs.size();
    for (std::size_t o = 0; o < joint_.outputs.size(); ++o) {
      const bool state = o < layout_.states;
      if (state ? !active(o) : adjoint_of(g_.nodes[index_].outputs[o]) == kNone) continue;
      const ValueId value = joint_.outputs[o].value;
      if (!is_float(joint_, value)) continue;
      const TensorType type = joint_.type(value);
      jb.set_location(g_.nodes[index_].at);
      seeds_[o] = jb.input("d." + joint_.outputs[o].name, type);
      if (depends[static_cast<std::size_t>(value)]) accumulate(joint_, jb, inner, value, seeds_[o], "scan");
    }
    joint_.inputs.resize(inputs);  // seeds are inputs of the backward body alone
    depends.resize(joint_.values.size(), 0);
    walk_back(joint_, jb, forward_nodes_, depends, inner, tape_);
    for (std::size_t i = 0; i + 1 < joint_.inputs.size(); ++i) {
      const auto it = inner.find(joint_.inputs[i].value);
      d_inputs_.push_back(active(i) && it != inner.end() ? it->second : kNone);
    }
  }

  void build_backward() {
    Transplant t(joint_, backward_);
    Builder& bb = t.builder();
    backward_.name = "d." + joint_.name;
    bb.set_location(g_.nodes[index_].at);
    const Node& scan = g_.nodes[index_];
    // States: the gradients of states, then the sums of the gradients of what is the same at every step.
    for (std::size_t s = 0; s < layout_.states; ++s) {
      if (seeds_[s] == kNone) continue;
      const ValueId in = bb.input(joint_.value(seeds_[s]).name, joint_.type(seeds_[s]));
      t.map(seeds_[s], in);
      const ValueId end = adjoint_of(scan.outputs[s]);
      states_.push_back({s, in, end});
    }
    for (std::size_t i = layout_.invariant_begin(); i < layout_.step(); ++i) {
      if (d_inputs_[i] == kNone) continue;
      const ValueId v = joint_.inputs[i].value;
      sums_.push_back({i, bb.input("sum.d." + joint_.value(v).name, joint_.type(v))});
    }
    std::vector<ir::Input> inputs;
    std::swap(inputs, backward_.inputs);
    // Sequences: gradients of outputs, slices, and values that the forward body hands out.
    for (std::size_t o = layout_.states; o < seeds_.size(); ++o) {
      if (seeds_[o] == kNone) continue;
      t.map(seeds_[o], bb.input(joint_.value(seeds_[o]).name, joint_.type(seeds_[o])));
      each_operands_.push_back(adjoint_of(scan.outputs[o]));
    }
    const Recomputable again(joint_, forward_nodes_, layout_);
    const ValueId step = joint_.inputs.back().value;
    std::vector<std::pair<ValueId, ValueId>> invariants;  // in the joint graph, outside
    std::set<ValueId> wanted, seen;
    // Everything of the forward part that gradient nodes read, through what is recomputed.
    const auto want = [&](ValueId root) {
      std::vector<ValueId> stack = {root};
      while (!stack.empty()) {
        const ValueId v = stack.back();
        stack.pop_back();
        if (v == kNone || t.has(v) || !seen.insert(v).second) continue;
        const std::int32_t n = joint_.value(v).node;
        if (n >= static_cast<std::int32_t>(forward_nodes_)) continue;
        if (n >= 0 && again(v)) {
          remade_.insert(static_cast<std::size_t>(n));
          for (ValueId x : joint_.nodes[static_cast<std::size_t>(n)].inputs) stack.push_back(x);
        } else {
          wanted.insert(v);
        }
      }
    };
    for (std::size_t n = forward_nodes_; n < joint_.nodes.size(); ++n) {
      for (ValueId v : joint_.nodes[n].inputs) want(v);
    }
    for (ValueId v : d_inputs_) want(v);
    if (tape_.recompute) wanted = Sources(joint_, forward_nodes_, layout_, again).instead_of(wanted, remade_, instead_);
    for (ValueId v : wanted) {
      if (v == step) continue;
      const std::size_t i = input_index(v);
      if (i < layout_.invariant_begin() && i >= layout_.states) {
        t.map(v, bb.input(joint_.value(v).name, joint_.type(v)));
        each_operands_.push_back(scan.inputs[i]);
      } else if (i < joint_.inputs.size() && i >= layout_.invariant_begin()) {
        invariants.emplace_back(v, scan.inputs[i]);
      } else {
        t.map(v, bb.input(joint_.value(v).name, joint_.type(v)));
        taped_.push_back(v);
        each_operands_.push_back(kNone);  // known once the forward scan hands it out
      }
    }
    if (tape_.decisions) note_decision();
    each_count_ = each_operands_.size();
    for (const auto& [v, operand] : invariants) {
      t.map(v, bb.input(joint_.value(v).name, joint_.type(v)));
      invariant_operands_.push_back(operand);
    }
    t.map(step, bb.input("step", {Type::kInt32, {}}));
    inputs.insert(inputs.end(), backward_.inputs.begin(), backward_.inputs.end());
    backward_.inputs = std::move(inputs);

    for (std::size_t n : remade_) t.copy(n);
    for (std::size_t n = forward_nodes_; n < joint_.nodes.size(); ++n) t.copy(n);

    for (const State& s : states_) {
      const ValueId d = d_inputs_[s.index];
      const ValueId next = d == kNone ? bb.zeros(joint_.type(seeds_[s.index])) : t(d);
      backward_.outputs.push_back({joint_.value(seeds_[s.index]).name, next});
    }
    for (const Sum& s : sums_) {
      bb.set_name("sum");
      backward_.outputs.push_back({backward_.value(s.before).name, bb.op("add", {s.before, t(d_inputs_[s.index])})});
    }
    for (std::size_t i = layout_.each_begin(); i < layout_.invariant_begin(); ++i) {
      if (d_inputs_[i] == kNone) continue;
      d_each_.push_back(i);
      backward_.outputs.push_back({"d." + joint_.value(joint_.inputs[i].value).name, t(d_inputs_[i])});
    }
  }

  // What gradient nodes read of the forward part is either saved, a sequence that exists anyway, or recomputed.
  void note_decision() const {
    TapeDecision decision{joint_.name, g_.nodes[index_].attributes.dim("steps"), {}, {}, {}};
    const auto named = [&](ValueId v) { return TapeDecision::Value{joint_.value(v).name, joint_.type(v)}; };
    for (ValueId v : taped_) decision.saved.push_back(named(v));
    for (ValueId v : instead_) decision.instead.push_back(named(v));
    std::set<ValueId> read;
    for (std::size_t n = forward_nodes_; n < joint_.nodes.size(); ++n) {
      for (ValueId v : joint_.nodes[n].inputs) {
        const std::int32_t made = v == kNone ? -1 : joint_.value(v).node;
        const bool again = made >= 0 && remade_.count(static_cast<std::size_t>(made)) != 0;
        if (again && !joint_.type(v).shape.empty() && read.insert(v).second) decision.recomputed.push_back(named(v));
      }
    }
    tape_.decisions->push_back(std::move(decision));
  }

  std::size_t input_index(ValueId v) const {
    if (joint_.value(v).node >= 0) return joint_.inputs.size();
    for (std::size_t i = 0; i < joint_.inputs.size(); ++i) {
      if (joint_.inputs[i].value == v) return i;
    }
    return joint_.inputs.size();
  }

  // The forward scan again, with what the backward one reads as further outputs.
  void hand_out() {
    ir::Graph forward;
    forward.name = joint_.name;
    Transplant t(joint_, forward);
    for (const ir::Input& i : joint_.inputs) {
      t.map(i.value, t.builder().input(joint_.value(i.value).name, joint_.type(i.value)));
      forward.inputs.back() = {forward.inputs.back().value, i.below, i.lengths_of};
    }
    for (std::size_t n = 0; n < forward_nodes_; ++n) t.copy(n);
    for (const ir::Output& o : joint_.outputs) forward.outputs.push_back({o.name, t(o.value)});
    const Dim steps = g_.nodes[index_].attributes.dim("steps");
    std::size_t next = 0;
    for (ValueId v : taped_) {
      while (each_operands_[next] != kNone) ++next;
      const std::string name = "saved." + joint_.value(v).name;
      forward.outputs.push_back({name, t(v)});
      TensorType type = joint_.type(v);
      type.shape.insert(type.shape.begin(), steps);
      const ValueId id = b_.value(name, type);
      g_.value(id).node = static_cast<std::int32_t>(index_);
      g_.value(id).result = static_cast<std::int32_t>(g_.nodes[index_].outputs.size());
      g_.nodes[index_].outputs.push_back(id);
      each_operands_[next] = id;
    }
    g_.nodes[index_].regions[0] = std::move(forward);
  }

  void emit() {
    const Location at = g_.nodes[index_].at;
    const Dim steps = g_.nodes[index_].attributes.dim("steps");
    const bool reverse = g_.nodes[index_].attributes.boolean("reverse");
    const std::vector<ValueId> forward_inputs = g_.nodes[index_].inputs;
    b_.set_location(at);
    b_.set_name("d." + joint_.name);
    std::vector<ValueId> operands;
    for (const State& s : states_) operands.push_back(s.end != kNone ? s.end : b_.zeros(joint_.type(seeds_[s.index])));
    for (const Sum& s : sums_) operands.push_back(b_.zeros(backward_.type(s.before)));
    const std::size_t states = operands.size();
    operands.insert(operands.end(), each_operands_.begin(), each_operands_.end());
    operands.insert(operands.end(), invariant_operands_.begin(), invariant_operands_.end());
    if (backward_.outputs.empty()) return;
    const std::vector<ValueId> results =
        b_.scan(std::move(operands), std::move(backward_), states, each_count_, steps, !reverse);
    std::size_t k = 0;
    for (const State& s : states_) give(forward_inputs[s.index], s.index, results[k++]);
    for (const Sum& s : sums_) give(forward_inputs[s.index], s.index, results[k++]);
    for (std::size_t i : d_each_) give(forward_inputs[i], i, results[k++]);
  }

  void give(ValueId operand, std::size_t i, ValueId gradient) {
    if (outer_needs_[i]) accumulate(g_, b_, adjoints_, operand, gradient, "scan");
  }

  struct State {
    std::size_t index;
    ValueId in, end;
  };
  struct Sum {
    std::size_t index;
    ValueId before;
  };
  ir::Graph& g_;
  Builder& b_;
  std::size_t index_;
  Adjoints& adjoints_;
  const TapeOptions& tape_;
  ScanLayout layout_;
  ir::Graph joint_, backward_;
  std::size_t forward_nodes_;
  Flags active_;
  std::vector<bool> outer_needs_;
  std::vector<ValueId> seeds_, d_inputs_;
  std::vector<State> states_;
  std::vector<Sum> sums_;
  std::set<std::size_t> remade_;
  std::set<ValueId> instead_;  // kept so that others can be recomputed
  std::vector<ValueId> taped_, each_operands_, invariant_operands_;
  std::size_t each_count_ = 0;
  std::vector<std::size_t> d_each_;
};

void differentiate_scan(ir::Graph& g, Builder& b, std::size_t index, const Flags& depends, Adjoints& adjoints,
                        const TapeOptions& tape) {
  ScanGradient(g, b, index, depends, adjoints, tape).run();
}

}  // namespace

std::vector<ValueId> differentiate(ir::Graph& graph, ValueId of, const std::vector<ValueId>& wrt, const TapeOptions& tape) {
  GRAPHRUN_CHECK(is_float(graph, of) && graph.type(of).shape.empty(), "differentiate: not a FLOAT scalar");
  const std::size_t nodes = graph.nodes.size();
  Flags depends(graph.values.size(), 0);
  for (ValueId v : wrt) {
    GRAPHRUN_CHECK(is_float(graph, v), "differentiate: by a value that is not FLOAT");
    depends[static_cast<std::size_t>(v)] = 1;
  }
  mark_dependents(graph, nodes, depends);
  Builder b(graph);
  Adjoints adjoints;
  if (depends[static_cast<std::size_t>(of)]) {
    b.set_name("d." + graph.value(of).name);
    adjoints.emplace(of, b.constant(1));
    walk_back(graph, b, nodes, depends, adjoints, tape);
  }
  std::vector<ValueId> out;
  for (ValueId v : wrt) {
    const auto it = adjoints.find(v);
    out.push_back(it == adjoints.end() ? kNone : it->second);
  }
  return out;
}

}  // namespace graphrun
