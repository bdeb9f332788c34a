#include "compiler/frontend/region.h"

#include "compiler/ir/roles.h"

namespace graphrun::frontend {

ir::ValueId Region::use(const TensorRef& value) {
  if (value.region == this) return value.id;
  GRAPHRUN_CHECK(parent != nullptr, "a value left the body of its scan");
  const ir::ValueId outside = parent->use(value);
  if (const auto it = captures.find(outside); it != captures.end()) return it->second;
  const ir::Value& v = parent->graph.value(outside);
  ir::ValueId here;
  if (const std::optional<double> number = ir::number(parent->graph, outside)) {
    here = builder.constant(*number, v.type.type);
  } else {
    here = builder.input(v.name, v.type);
    captured.push_back(here);
    captured_operands.push_back(outside);
  }
  captures.emplace(outside, here);
  return here;
}

ir::ValueId Region::history_of(ir::ValueId value, const std::string& path, ir::Graph& root) {
  if (const auto it = histories.find(value); it != histories.end()) return it->second;
  if (!history) {
    history = Symbol::named(path + "steps");
    root.defined_symbols.emplace(*history, steps);
  }
  ir::TensorType type = graph.type(value);
  type.shape.insert(type.shape.begin(), Dim(*history));
  State s;
  s.name = path + "history" + (histories.empty() ? "" : "." + std::to_string(histories.size()));
  s.before = builder.input(s.name, type);
  s.after = builder.op("put", {s.before, value, step});
  parent->builder.set_name(s.name + ".begin");
  s.begin = parent->builder.zeros(type);
  states.push_back(s);
  histories.emplace(value, s.after);
  return s.after;
}

}  // namespace graphrun::frontend
