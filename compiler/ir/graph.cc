#include "compiler/ir/graph.h"

#include "compiler/ir/op.h"

namespace graphrun::ir {

std::string TensorType::str() const { return std::string(name_of(type)) + graphrun::str(shape); }

Initializer default_initializer(const Shape& shape) {
  return {shape.size() >= 2 ? Initializer::Kind::kXavier : Initializer::Kind::kConstant};
}

const Output* Graph::output(std::string_view name) const {
  for (const Output& o : outputs) {
    if (o.name == name) return &o;
  }
  return nullptr;
}

const Variable* Graph::variable(std::string_view name) const {
  for (const Variable& v : variables) {
    if (value(v.value).name == name) return &v;
  }
  return nullptr;
}

std::int64_t Graph::parameter_count() const {
  std::int64_t n = 0;
  for (const Variable& v : variables) {
    if (v.kind == Variable::Kind::kParameter) n += element_count(type(v.value).shape).evaluate({});
  }
  return n;
}

bool is_scan(const Node& node) { return plays(node, Role::kScan); }
std::string path_of(const Graph& body, const Output& output) { return body.name + "." + output.name; }

ScanLayout scan_layout(const Node& scan) {
  ScanLayout l;
  l.states = static_cast<std::size_t>(scan.attributes.integer("states"));
  l.each = static_cast<std::size_t>(scan.attributes.integer("each"));
  GRAPHRUN_CHECK(scan.regions.size() == 1 && scan.inputs.size() >= l.states + l.each, "scan_layout: not a scan");
  l.invariants = scan.inputs.size() - l.states - l.each;
  GRAPHRUN_CHECK(scan.regions[0].outputs.size() >= l.states, "scan_layout: too few results");
  l.outputs = scan.regions[0].outputs.size() - l.states;
  return l;
}

}  // namespace graphrun::ir
