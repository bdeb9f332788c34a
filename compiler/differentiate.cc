#include "compiler/differentiate.h"

#include <algorithm>
#include <map>

#include "compiler/backward_scan.h"
#include "compiler/ir/builder.h"

namespace graphrun {
namespace {

using ir::Builder;
using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::TensorType;
using ir::ValueId;

using Flags = std::vector<char>;              // by value
using Adjoints = std::map<ValueId, ValueId>;  // by value: its gradient so far

bool is_float(const ir::Graph& g, ValueId v) { return v != kNone && g.type(v).type == Type::kFloat; }

void mark_dependents(const ir::Graph& g, std::size_t nodes, Flags& depends);

// Which of a body's inputs depend on the variables of differentiation, given which of the scan's operands do. A state depends
// on them if its initial value or, through the body, its next value does.
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

// Marks every FLOAT value that depends on a marked one through ops with a gradient.
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
        // If the scan runs no step, the final state is the initial one.
        const bool begins = o < scan_layout(node).states && operands[o];
        const bool flows = begins || inside[static_cast<std::size_t>(body.outputs[o].value)];
        depends[static_cast<std::size_t>(v)] |= flows && is_float(g, v);
      }
    } else if (node.op->gradient) {
      for (ValueId v : node.outputs) depends[static_cast<std::size_t>(v)] |= is_float(g, v);
    }
  }
}

void differentiate_scan(ir::Graph& g, Builder& b, std::size_t index, const std::vector<bool>& needs,
                        const std::vector<ValueId>& d_outputs, Adjoints& adjoints, const TapeOptions& tape);

void accumulate(const ir::Graph& g, Builder& b, Adjoints& adjoints, ValueId value, ValueId gradient, const char* op) {
  GRAPHRUN_CHECK(g.type(gradient) == g.type(value), std::string("the gradient rule of '") + op + "' gives " +
                                                        g.type(gradient).str() + " for an operand " + g.type(value).str());
  const auto [it, fresh] = adjoints.emplace(value, gradient);
  if (!fresh) it->second = b.op("add", {it->second, gradient});
}

// The generic walk: visits the first `nodes` nodes from last to first; each adds to the gradients of its operands.
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
      differentiate_scan(g, b, n, needs, d_outputs, adjoints, tape);
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

// The scan's body, followed by the nodes that compute the gradients of its inputs from the gradients of the scan's results.
JointBody joint_body(const Node& scan, const Flags& active, const std::vector<ValueId>& d_outputs, const TapeOptions& tape) {
  JointBody joint;
  joint.graph = scan.regions[0];
  joint.layout = scan_layout(scan);
  joint.forward_nodes = joint.graph.nodes.size();
  ir::Graph& body = joint.graph;
  Builder b(body);
  const auto is_active = [&](std::size_t input) { return active[static_cast<std::size_t>(body.inputs[input].value)] != 0; };
  Flags depends = active;
  mark_dependents(body, joint.forward_nodes, depends);
  joint.seeds.assign(body.outputs.size(), kNone);
  Adjoints adjoints;
  const std::size_t inputs = body.inputs.size();
  for (std::size_t o = 0; o < body.outputs.size(); ++o) {
    if (o < joint.layout.states ? !is_active(o) : d_outputs[o] == kNone) continue;
    const ValueId value = body.outputs[o].value;
    if (!is_float(body, value)) continue;
    const TensorType type = body.type(value);
    b.set_location(scan.at);
    joint.seeds[o] = b.input("d." + body.outputs[o].name, type);
    if (depends[static_cast<std::size_t>(value)]) accumulate(body, b, adjoints, value, joint.seeds[o], "scan");
  }
  body.inputs.resize(inputs);  // the seeds are inputs of the backward body only
  depends.resize(body.values.size(), 0);
  walk_back(body, b, joint.forward_nodes, depends, adjoints, tape);
  for (std::size_t i = 0; i < joint.layout.step(); ++i) {
    const auto it = adjoints.find(body.inputs[i].value);
    joint.d_inputs.push_back(is_active(i) && it != adjoints.end() ? it->second : kNone);
  }
  return joint;
}

void differentiate_scan(ir::Graph& g, Builder& b, std::size_t index, const std::vector<bool>& needs,
                        const std::vector<ValueId>& d_outputs, Adjoints& adjoints, const TapeOptions& tape) {
  const JointBody joint = joint_body(g.nodes[index], active_inputs(g.nodes[index], needs), d_outputs, tape);
  const BackwardScanPlan plan = plan_backward_scan(joint, tape.recompute);
  if (tape.decisions) tape.decisions->push_back(decision_of(joint, plan, g.nodes[index].attributes.dim("steps")));
  const std::vector<ValueId> operands = g.nodes[index].inputs;
  for (const auto& [i, gradient] : build_backward_scan(b, index, joint, plan, d_outputs)) {
    if (needs[i]) accumulate(g, b, adjoints, operands[i], gradient, "scan");
  }
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
