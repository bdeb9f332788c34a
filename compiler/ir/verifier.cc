#include "compiler/ir/verifier.h"

#include <unordered_set>

#include "compiler/ir/op.h"
#include "compiler/ir/printer.h"

namespace graphrun::ir {
namespace {

bool in_range(const Graph& g, ValueId id) { return id >= 0 && static_cast<std::size_t>(id) < g.values.size(); }

std::string named(const Graph& g, ValueId id) {
  return in_range(g, id) ? "'" + g.value(id).name + "'" : "value " + std::to_string(id);
}

// ---- one producer for each value

class Producers {
 public:
  explicit Producers(const Graph& g) : g_(g), count_(g.values.size(), 0) {}

  std::string check() {
    for (const Input& i : g_.inputs) claim(i.value, -1, 0, "an input");
    for (const Variable& v : g_.variables) claim(v.value, -1, 0, "a variable");
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      const auto& outputs = g_.nodes[n].outputs;
      for (std::size_t r = 0; r < outputs.size(); ++r) {
        claim(outputs[r], static_cast<std::int32_t>(n), static_cast<std::int32_t>(r), "a node's result");
      }
    }
    for (std::size_t v = 0; v < count_.size() && fault_.empty(); ++v) {
      if (count_[v] != 1) fault_ = named(g_, static_cast<ValueId>(v)) + " has " + std::to_string(count_[v]) + " producers";
    }
    return fault_;
  }

 private:
  void claim(ValueId id, std::int32_t node, std::int32_t result, const char* as) {
    if (!fault_.empty()) return;
    if (!in_range(g_, id)) {
      fault_ = std::string(as) + " is " + named(g_, id) + ", which does not exist";
      return;
    }
    ++count_[static_cast<std::size_t>(id)];
    const Value& v = g_.value(id);
    if (v.node != node || v.result != (node < 0 ? v.result : result)) {
      fault_ = named(g_, id) + " says that it is result " + std::to_string(v.result) + " of node " + std::to_string(v.node) +
               ", but it is " + as +
               (node < 0 ? "" : ": result " + std::to_string(result) + " of node " + std::to_string(node));
    }
  }

  const Graph& g_;
  std::vector<int> count_;
  std::string fault_;
};

std::string name_fault(const Graph& g) {
  std::unordered_set<std::string_view> names;
  for (const Value& v : g.values) {
    if (v.name.empty()) return "a value of type " + v.type.str() + " has no name";
    if (!names.insert(v.name).second) return "two values are named '" + v.name + "'";
  }
  return "";
}

std::string input_fault(const Graph& g) {
  for (const Input& i : g.inputs) {
    if ((i.below || i.lengths_of) && g.type(i.value).type != Type::kInt32) {
      return "input " + named(g, i.value) + " has a bound or is a length, but is " + g.type(i.value).str();
    }
  }
  return "";
}

std::string variable_fault(const Graph& g, bool is_root) {
  if (!is_root && !g.variables.empty()) return "a region has the variable " + named(g, g.variables[0].value);
  for (const Variable& v : g.variables) {
    const TensorType& type = g.type(v.value);
    if (v.kind != Variable::Kind::kState) {
      for (const Dim& d : type.shape) {
        if (!d.is_constant()) {
          return std::string(name_of(v.kind)) + " " + named(g, v.value) + " has a size that is not a number: " + type.str();
        }
      }
    }
    if (v.next == kNone) continue;
    if (!in_range(g, v.next)) return "the next value of " + named(g, v.value) + " does not exist";
    if (g.type(v.next) != type) {
      return "variable " + named(g, v.value) + " is " + type.str() + ", but its next value " + named(g, v.next) + " is " +
             g.type(v.next).str();
    }
  }
  return "";
}

std::string output_fault(const Graph& g, bool is_root) {
  std::unordered_set<std::string_view> names;
  for (const Output& o : g.outputs) {
    if (!in_range(g, o.value)) return "output '" + o.name + "' is " + named(g, o.value) + ", which does not exist";
    if (!is_root) continue;
    if (o.name.empty()) return "the output " + named(g, o.value) + " has no name";
    if (!names.insert(o.name).second) return "two outputs are named '" + o.name + "'";
  }
  return "";
}

// Kahn's topological sort of the definitions.
std::string symbol_fault(const Graph& g) {
  std::map<Symbol, std::vector<Symbol>> users;
  std::map<Symbol, std::size_t> waiting;
  std::vector<Symbol> ready;
  for (const auto& [symbol, dim] : g.defined_symbols) {
    std::size_t open = 0;
    for (Symbol s : dim.symbols()) {
      if (g.defined_symbols.count(s)) users[s].push_back(symbol), ++open;
    }
    waiting[symbol] = open;
    if (open == 0) ready.push_back(symbol);
  }
  std::size_t done = 0;
  for (; done < ready.size(); ++done) {
    for (Symbol user : users[ready[done]]) {
      if (--waiting[user] == 0) ready.push_back(user);
    }
  }
  if (done == g.defined_symbols.size()) return "";
  for (const auto& [symbol, open] : waiting) {
    if (open) return "the size '" + symbol.name() + "' is defined by itself: " + g.defined_symbols.at(symbol).str();
  }
  return "";
}

// ---- operands and attributes

std::string count_fault(const OpSchema& op, const Node& n) {
  const std::size_t given = n.inputs.size(), known = op.inputs.size();
  if (op.variadic()) {
    const std::size_t fewest = op.inputs.back().optional ? known - 1 : known;
    if (given >= fewest) return "";
    return "takes " + std::to_string(fewest) + " inputs or more, has " + std::to_string(given);
  }
  if (given == known) return "";
  return "takes " + std::to_string(known) + (known == 1 ? " input" : " inputs") + ", has " + std::to_string(given);
}

std::string absent_fault(const OpSchema& op, const Node& n) {
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i] != kNone) continue;
    if (op.inputs.empty()) return "operand " + std::to_string(i) + " is absent";
    const InputSpec& spec = op.inputs[std::min(i, op.inputs.size() - 1)];
    if (!spec.optional) return "operand '" + spec.name + "' is absent, but not optional";
  }
  return "";
}

std::string attribute_fault(const OpSchema& op, const Node& n) {
  static constexpr const char* kKinds[] = {"bool",  "integer",          "float",  "string", "size",
                                           "shape", "list of integers", "program"};
  for (const AttributeSpec& spec : op.attributes) {
    const auto it = n.attributes.all().find(spec.name);
    if (it == n.attributes.all().end()) return "the attribute '" + spec.name + "' is missing";
    if (it->second.index() != static_cast<std::size_t>(spec.kind)) {
      return "the attribute '" + spec.name + "' is a " + kKinds[it->second.index()] + ", not a " +
             kKinds[static_cast<std::size_t>(spec.kind)];
    }
  }
  for (const auto& [name, value] : n.attributes.all()) {
    if (!op.attribute(name)) return "has the unknown attribute '" + name + "'";
  }
  return "";
}

// ---- scans

std::string compare(const Graph& outer, ValueId a, const Shape& lead, const Graph& body, ValueId b, const std::string& what) {
  TensorType expected = body.type(b);
  expected.shape.insert(expected.shape.begin(), lead.begin(), lead.end());
  if (outer.type(a) == expected) return "";
  return what + " " + named(outer, a) + " is " + outer.type(a).str() + ", but the body's " + named(body, b) + " asks for " +
         expected.str();
}

std::string layout_fault(const Node& n) {
  if (n.regions.size() != 1) return "a scan has one region, this one " + std::to_string(n.regions.size());
  const auto& all = n.attributes.all();
  for (const char* name : {"states", "each"}) {
    const auto it = all.find(name);
    const std::int64_t* count = it == all.end() ? nullptr : std::get_if<std::int64_t>(&it->second);
    if (!count) return std::string("a scan needs the integer attribute '") + name + "'";
    if (*count < 0 || static_cast<std::size_t>(*count) > n.inputs.size()) {
      return std::string("the attribute '") + name + "' is " + std::to_string(*count) + ", with " +
             std::to_string(n.inputs.size()) + " operands";
    }
  }
  const Graph& body = n.regions[0];
  const auto states = static_cast<std::size_t>(n.attributes.integer("states"));
  const auto each = static_cast<std::size_t>(n.attributes.integer("each"));
  if (ScanLayout{states, each}.invariant_begin() > n.inputs.size()) return "states and sequences are more than the operands";
  if (body.inputs.size() != n.inputs.size() + 1) {
    return "the body has " + std::to_string(body.inputs.size()) + " inputs for " + std::to_string(n.inputs.size()) +
           " operands and the step";
  }
  if (body.outputs.size() != n.outputs.size() || states > n.outputs.size()) {
    return "the body has " + std::to_string(body.outputs.size()) + " outputs, the scan " + std::to_string(n.outputs.size()) +
           " results and " + std::to_string(states) + " states";
  }
  return "";
}

std::string scan_fault(const Graph& g, const Node& n) {
  if (std::string fault = layout_fault(n); !fault.empty()) return fault;
  const Graph& body = n.regions[0];
  const ScanLayout l = scan_layout(n);
  const Shape steps = {n.attributes.dim("steps")};
  const TensorType step{Type::kInt32, {}};
  if (body.type(body.inputs[l.step()].value) != step) return "the body's last input, the step, is not INT32[]";
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    const ValueId inner = body.inputs[i].value;
    if (n.inputs[i] == kNone) return "operand " + std::to_string(i) + " is absent";
    const bool sliced = i >= l.each_begin() && i < l.invariant_begin();
    const char* what = i < l.states ? "the begin" : sliced ? "the sequence" : "the operand";
    std::string fault = compare(g, n.inputs[i], sliced ? steps : Shape{}, body, inner, what);
    if (fault.empty() && i < l.states && body.type(body.outputs[i].value) != body.type(inner)) {
      fault = "the state " + named(body, inner) + " is " + body.type(inner).str() + ", but after the step it is " +
              body.type(body.outputs[i].value).str();
    }
    if (!fault.empty()) return fault;
  }
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    const bool end = i < l.states;
    std::string fault =
        compare(g, n.outputs[i], end ? Shape{} : steps, body, body.outputs[i].value, end ? "the end" : "the output");
    if (!fault.empty()) return fault;
  }
  return "";
}

// ---- the shape rule

std::string type_fault(const Graph& g, const Node& n) {
  InferContext c;
  c.op = n.op;
  c.attributes = &n.attributes;
  for (ValueId id : n.inputs) c.inputs.push_back(id == kNone ? nullptr : &g.type(id));
  try {
    if (!n.op->infer) return "the op has no shape rule";
    n.op->infer(c);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return std::string("the shape rule says: ") + error.what();
  }
  if (c.outputs.size() != n.outputs.size()) {
    return "has " + std::to_string(n.outputs.size()) + " results, the shape rule gives " + std::to_string(c.outputs.size());
  }
  for (std::size_t i = 0; i < c.outputs.size(); ++i) {
    if (g.type(n.outputs[i]) != c.outputs[i]) {
      return named(g, n.outputs[i]) + " is " + g.type(n.outputs[i]).str() + ", the shape rule gives " + c.outputs[i].str();
    }
  }
  return "";
}

// ---- everything

[[noreturn]] void fail(const std::string& path, const std::string& fault, std::string_view stage) {
  throw InternalError(path + ": " + fault + " (after " + std::string(stage) + ")");
}

std::string describe(const Graph& g, const Node& n) {
  std::string text = ", node " + (n.outputs.empty() ? "without a result" : named(g, n.outputs[0]));
  if (n.op) text += " = " + n.op->name + "(…)";
  if (n.at.known()) text += " at " + n.at.str();
  return text;
}

void verify_graph(const Graph& g, bool is_root, int depth, const std::string& path, std::string_view stage) {
  const std::string here = path + "graph '" + g.name + "'";
  if (depth > kMostRegionDepth) fail(here, "regions nest deeper than " + std::to_string(kMostRegionDepth), stage);
  if (std::string fault = graph_fault(g, is_root); !fault.empty()) fail(here, fault, stage);
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    for (const Graph& region : n.regions) verify_graph(region, false, depth + 1, here + describe(g, n) + ", ", stage);
    if (std::string fault = node_fault(g, i); !fault.empty()) fail(here + describe(g, n), fault, stage);
  }
}

}  // namespace

std::string graph_fault(const Graph& graph, bool is_root) {
  std::string fault = Producers(graph).check();
  if (fault.empty()) fault = name_fault(graph);
  if (fault.empty()) fault = input_fault(graph);
  if (fault.empty()) fault = variable_fault(graph, is_root);
  if (fault.empty()) fault = output_fault(graph, is_root);
  if (fault.empty()) fault = symbol_fault(graph);
  return fault;
}

std::string operand_fault(const Graph& graph, const Node& node) {
  if (!node.op) return "has no op";
  for (ValueId id : node.inputs) {
    if (id != kNone && !in_range(graph, id)) return "the operand " + named(graph, id) + " does not exist";
  }
  std::string fault;
  if (!is_scan(node)) fault = count_fault(*node.op, node);
  if (fault.empty()) fault = absent_fault(*node.op, node);
  if (fault.empty()) fault = attribute_fault(*node.op, node);
  return fault;
}

std::string node_fault(const Graph& graph, std::size_t index) {
  const Node& node = graph.nodes[index];
  std::string fault = operand_fault(graph, node);
  if (!fault.empty()) return fault;
  for (ValueId id : node.inputs) {
    if (id != kNone && graph.value(id).node >= static_cast<std::int32_t>(index)) {
      return "uses " + named(graph, id) + " before it is defined";
    }
  }
  if (is_scan(node)) return scan_fault(graph, node);
  if (!node.regions.empty()) return "has a region, which only a scan may have";
  return type_fault(graph, node);
}

void verify(const Graph& graph, std::string_view stage) { verify_graph(graph, true, 0, "", stage); }

}  // namespace graphrun::ir
