#include "compiler/rewrite/around_scan.h"

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ir/sequence.h"

namespace graphrun {

using ir::kNone;
using ir::Node;
using ir::ValueId;

bool may_be_stacked(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(), [](const Dim& d) { return !d.is_constant(); }) <= 1;
}

bool is_scalar_constant(const ir::Graph& graph, const Node& node) {
  return node.inputs.empty() && node.outputs.size() == 1 && graph.type(node.outputs[0]).shape.empty();
}

AroundScan::AroundScan(ir::Builder& builder, const Node& scan)
    : b_(builder), body_(scan.regions[0]), steps_(scan.attributes.dim("steps")), outside_(body_.values.size()) {
  const ir::ScanLayout l = ir::scan_layout(scan);
  for (std::size_t i = l.each_begin(); i < l.step(); ++i) {
    set(body_.inputs[i].value, {scan.inputs[i], i < l.invariant_begin()});
  }
  step_ = body_.inputs[l.step()].value;
}

AroundScan::Outside AroundScan::at(ValueId v) {
  if (v == kNone) return {};
  if (has(v)) return outside_[index(v)];
  const std::int32_t n = body_.value(v).node;
  if (v == step_) {
    b_.set_name("steps");
    set(v, {b_.op("range", {}, {{"n", steps_}}), true});
  } else {
    GRAPHRUN_CHECK(n >= 0 && is_scalar_constant(body_, body_.nodes[static_cast<std::size_t>(n)]),
                   "'" + body_.value(v).name + "' is not known outside its scan");
    lift(static_cast<std::size_t>(n));
  }
  return outside_[index(v)];
}

ValueId AroundScan::sequence(ValueId v) {
  const Outside out = at(v);
  if (out.sequence) return out.value;
  Shape shape = body_.type(v).shape;
  shape.insert(shape.begin(), steps_);
  return b_.op("broadcast_to", {out.value}, {{"shape", std::move(shape)}});
}

void AroundScan::lift(std::size_t n) {
  const Node& node = body_.nodes[n];
  std::vector<ir::SequenceContext::SequenceOperand> operands;
  bool any = node.op->random;
  for (ValueId v : node.inputs) {
    const Outside out = at(v);
    operands.push_back({out.value, v == kNone ? ir::TensorType{} : body_.type(v), out.sequence});
    any |= out.sequence;
  }
  b_.set_location(node.at);
  b_.set_name(node.outputs.empty() ? "" : body_.value(node.outputs[0]).name);
  std::vector<ValueId> results;
  if (any) {
    ir::SequenceContext context(b_, *node.op, node.attributes, operands, steps_);
    results = node.op->sequence(context);
    GRAPHRUN_CHECK(results.size() == node.outputs.size(), "'" + node.op->name + "' can't be computed over a sequence");
  } else {
    Node copy = node;
    std::vector<ir::TensorType> types;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < operands.size(); ++i) copy.inputs[i] = operands[i].value;
    for (ValueId v : node.outputs) types.push_back(body_.type(v)), names.push_back(body_.value(v).name);
    results = b_.append(std::move(copy), types, names);
  }
  for (std::size_t r = 0; r < node.outputs.size(); ++r) {
    ir::TensorType expected = body_.type(node.outputs[r]);
    if (any) expected.shape.insert(expected.shape.begin(), steps_);
    GRAPHRUN_CHECK(b_.graph().type(results[r]) == expected, "over a sequence '" + node.op->name + "' gives " +
                                                                b_.graph().type(results[r]).str() + ", not " + expected.str());
    set(node.outputs[r], {results[r], any});
  }
}

bool draws(const Node& node) {
  const auto any_draws = [](const ir::Graph& region) { return std::any_of(region.nodes.begin(), region.nodes.end(), draws); };
  return node.op->random || std::any_of(node.regions.begin(), node.regions.end(), any_draws);
}

bool can_lift(const ir::Graph& body, const Node& node, const BodyDependence& dependence, const Dim& steps) {
  if (node.op->update) return false;
  // Tries the rule in a scratch graph, on operands of these types.
  ir::Graph trial;
  ir::Builder builder(trial);
  std::vector<ir::SequenceContext::SequenceOperand> operands;
  bool any = draws(node);
  for (ValueId v : node.inputs) {
    if (v == kNone) {
      operands.emplace_back();
      continue;
    }
    const bool sequence = dependence.on_step[static_cast<std::size_t>(v)];
    any |= sequence;
    ir::TensorType type = body.type(v);
    if (sequence) type.shape.insert(type.shape.begin(), steps);
    operands.push_back({builder.input("", std::move(type)), body.type(v), sequence});
  }
  if (!any) return true;
  if (!node.op->sequence) return false;
  ir::SequenceContext context(builder, *node.op, node.attributes, std::move(operands), steps);
  return !node.op->sequence(context).empty();
}

BodyDependence dependence_in_body(const Node& scan) {
  const ir::Graph& body = scan.regions[0];
  const ir::ScanLayout l = ir::scan_layout(scan);
  BodyDependence d;
  d.on_state.resize(body.values.size()), d.on_step.resize(body.values.size()), d.for_state.resize(body.nodes.size());
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const auto v = static_cast<std::size_t>(body.inputs[i].value);
    d.on_state[v] = i < l.states;
    d.on_step[v] = i < l.invariant_begin() || i == l.step();
  }
  for (const Node& node : body.nodes) {
    bool state = false, step = draws(node);
    for (ValueId v : node.inputs) {
      if (v == kNone) continue;
      state |= d.on_state[static_cast<std::size_t>(v)];
      step |= d.on_step[static_cast<std::size_t>(v)];
    }
    for (ValueId v : node.outputs) {
      d.on_state[static_cast<std::size_t>(v)] = state;
      d.on_step[static_cast<std::size_t>(v)] = step || state;
    }
  }
  std::vector<bool> wanted(body.values.size());
  for (std::size_t s = 0; s < l.states; ++s) wanted[static_cast<std::size_t>(body.outputs[s].value)] = true;
  for (std::size_t n = body.nodes.size(); n-- > 0;) {
    const Node& node = body.nodes[n];
    d.for_state[n] = node.op->update || std::any_of(node.outputs.begin(), node.outputs.end(),
                                                    [&](ValueId v) { return wanted[static_cast<std::size_t>(v)]; });
    if (!d.for_state[n]) continue;
    for (ValueId v : node.inputs) {
      if (v != kNone) wanted[static_cast<std::size_t>(v)] = true;
    }
  }
  return d;
}

}  // namespace graphrun
