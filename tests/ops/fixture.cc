#include "tests/ops/fixture.h"

#include "compiler/ir/verifier.h"

namespace graphrun::tests {
namespace {

Shape parse_shape(const std::string& text) {
  Shape shape;
  std::string part;
  for (char ch : text.substr(1)) {
    if (ch == ',' || ch == ']') {
      if (!part.empty()) shape.push_back(Dim::parse(part).value());
      part.clear();
    } else if (ch != ' ') {
      part += ch;
    }
  }
  return shape;
}

}  // namespace

std::vector<ir::TensorType> input_types(const Case& c, SymbolValues* symbols) {
  std::vector<ir::TensorType> types;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor& t = c.inputs[i];
    Shape shape(t.sizes().begin(), t.sizes().end());
    if (i < c.shapes.size() && !t.empty()) {
      shape = parse_shape(c.shapes[i]);
      for (std::size_t k = 0; symbols && k < shape.size(); ++k) {
        if (const auto symbol = shape[k].as_symbol()) (*symbols)[*symbol] = t.sizes()[k];
      }
    }
    types.push_back({type_of(t.dtype()), std::move(shape)});
  }
  return types;
}

CaseGraph forward_graph(const Case& c) {
  CaseGraph g;
  g.graph.name = c.full_name();
  g.op = &ir::OpRegistry::instance().get(c.op);
  ir::Builder builder(g.graph);
  const std::vector<ir::TensorType> types = input_types(c, &g.symbols);
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    g.inputs.push_back(c.inputs[i].empty() ? ir::kNone : builder.input("x" + std::to_string(i), types[i]));
  }
  builder.set_name("y");
  g.outputs = builder.node(*g.op, g.inputs, c.attributes);
  return g;
}

CaseGraph gradient_graph(const Case& c, int only) {
  CaseGraph g = forward_graph(c);
  ir::Builder builder(g.graph);
  for (ir::ValueId y : g.outputs) {
    const bool flows = g.graph.type(y).type == Type::kFloat;
    g.d_outputs.push_back(flows ? builder.input("g", ir::TensorType(g.graph.type(y))) : ir::kNone);
  }
  // The node's own operands: the builder may have inserted casts before it.
  const ir::Node node = g.graph.nodes.at(static_cast<std::size_t>(g.graph.value(g.outputs.at(0)).node));
  std::vector<bool> needs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_float = node.inputs[i] != ir::kNone && g.graph.type(node.inputs[i]).type == Type::kFloat;
    needs.push_back(is_float && (only < 0 || only == static_cast<int>(i)));
  }
  builder.set_name("d");
  ir::GradientContext context(builder, *g.op, node.attributes, node.inputs, node.outputs, g.d_outputs, needs);
  g.op->gradient(context);
  g.d_inputs = context.d_inputs;
  for (std::size_t i = 0; i < g.d_inputs.size(); ++i) {
    if (g.d_inputs[i] == ir::kNone) continue;
    GRAPHRUN_CHECK(g.graph.type(g.d_inputs[i]) == g.graph.type(node.inputs[i]),
                   c.full_name() + ": the gradient of input " + std::to_string(i) + " is " + g.graph.type(g.d_inputs[i]).str());
  }
  for (std::size_t i = 0; i < g.graph.nodes.size(); ++i) {
    const std::string fault = ir::node_fault(g.graph, i);
    GRAPHRUN_CHECK(fault.empty(), c.full_name() + ": " + fault);
  }
  return g;
}

std::map<ir::ValueId, Tensor> feeds_of(const CaseGraph& g, const std::vector<Tensor>& inputs) {
  std::map<ir::ValueId, Tensor> feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (g.inputs[i] != ir::kNone) feeds[g.inputs[i]] = inputs[i];
  }
  const std::vector<Tensor> weights = g.d_outputs.empty() ? std::vector<Tensor>() : result_weights(g);
  for (std::size_t i = 0; i < g.d_outputs.size(); ++i) {
    if (g.d_outputs[i] != ir::kNone) feeds[g.d_outputs[i]] = weights[i];
  }
  return feeds;
}

std::vector<Tensor> run_forward(const Case& c, Precision precision, bool in_place) {
  const CaseGraph g = forward_graph(c);
  return interpret(g.graph, feeds_of(g, c.inputs), g.outputs, {precision, g.symbols, in_place});
}

std::vector<Tensor> result_weights(const CaseGraph& g) {
  std::vector<Tensor> weights;
  for (std::size_t i = 0; i < g.outputs.size(); ++i) {
    weights.push_back(uniform(evaluate(g.graph.type(g.outputs[i]).shape, g.symbols), 0.5, 1.5, 100 + i));
  }
  return weights;
}

}  // namespace graphrun::tests
