#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/dump/dump.h"
#include "compiler/ir/op.h"
#include "compiler/ir/printer.h"

namespace graphrun {
namespace {

using Json = nlohmann::ordered_json;

Json id(ir::ValueId v) { return v == ir::kNone ? Json(nullptr) : Json(v); }

Json size(const Dim& dim) { return dim.is_constant() ? Json(dim.constant()) : Json(dim.str()); }

Json shape(const Shape& shape) {
  Json list = Json::array();
  for (const Dim& dim : shape) list.push_back(size(dim));
  return list;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(ir::print(value)); }

// The innermost location first, then the calls that led there.
Json place(const Location& at) {
  Json list = Json::array();
  for (const Location* l = &at; l && l->known(); l = l->via) {
    list.push_back({{"file", *l->file}, {"line", l->line}, {"column", l->column}, {"length", l->length}});
  }
  return list;
}

struct AttributeJson {
  Json operator()(bool v) const { return v; }
  Json operator()(std::int64_t v) const { return v; }
  Json operator()(double v) const { return number(v); }
  Json operator()(const std::string& v) const { return v; }
  Json operator()(const Dim& v) const { return size(v); }
  Json operator()(const Shape& v) const { return shape(v); }
  Json operator()(const std::vector<std::int64_t>& v) const { return v; }
  Json operator()(const OpaqueValue& v) const { return v.text(); }
};

Json graph_json(const ir::Graph& g);

Json node_json(const ir::Node& n) {
  Json out = {{"op", n.op->name}, {"family", n.op->family}};
  Json inputs = Json::array(), attributes = Json::object();
  for (ir::ValueId v : n.inputs) inputs.push_back(id(v));
  for (const auto& [name, value] : n.attributes.all()) attributes[name] = std::visit(AttributeJson{}, value);
  out["inputs"] = std::move(inputs);
  out["outputs"] = n.outputs;
  out["attributes"] = std::move(attributes);
  if (n.at.known()) out["at"] = place(n.at);
  for (const ir::Graph& region : n.regions) out["regions"].push_back(graph_json(region));
  return out;
}

Json variable_json(const ir::Variable& v) {
  Json out = {{"value", id(v.value)},
              {"kind", name_of(v.kind)},
              {"init", {{"kind", name_of(v.init.kind)}, {"amount", number(v.init.amount)}, {"declared", v.init.declared}}},
              {"trainable", v.trainable},
              {"next", id(v.next)}};
  if (v.at.known()) out["at"] = place(v.at);
  return out;
}

Json input_json(const ir::Input& input) {
  Json out = {{"value", id(input.value)}};
  if (input.below) out["below"] = size(*input.below);
  if (input.lengths_of) out["lengths_of"] = input.lengths_of->name();
  if (input.lasting) out["lasting"] = true;
  return out;
}

Json graph_json(const ir::Graph& g) {
  Json out = {{"name", g.name}};
  Json symbols = Json::object(), values = Json::array(), inputs = Json::array(), variables = Json::array(),
       nodes = Json::array(), outputs = Json::array();
  for (const auto& [symbol, dim] : g.defined_symbols) symbols[symbol.name()] = size(dim);
  for (const ir::Value& v : g.values) {
    values.push_back({{"name", v.name}, {"type", name_of(v.type.type)}, {"shape", shape(v.type.shape)}});
  }
  for (const ir::Input& i : g.inputs) inputs.push_back(input_json(i));
  for (const ir::Variable& v : g.variables) variables.push_back(variable_json(v));
  for (const ir::Node& n : g.nodes) nodes.push_back(node_json(n));
  for (const ir::Output& o : g.outputs) outputs.push_back({{"name", o.name}, {"value", id(o.value)}});
  out["symbols"] = std::move(symbols);
  out["values"] = std::move(values);
  out["inputs"] = std::move(inputs);
  out["variables"] = std::move(variables);
  out["nodes"] = std::move(nodes);
  out["outputs"] = std::move(outputs);
  return out;
}

}  // namespace

std::string json(const ir::Graph& graph) {
  // Names may contain any bytes, but JSON must be UTF-8.
  return graph_json(graph).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace graphrun
