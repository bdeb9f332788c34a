// Args of an instance: the value of each, and where it was written.
#include "compiler/frontend/instance.h"

namespace graphrun::frontend {

const Thunk* Instance::given_arg(const std::string& name) const {
  for (const GraphValue::Override& o : setup_.graph->overrides) {
    if (o.path.size() == 1 && o.path[0] == name) return &o.value;
  }
  if (const auto it = setup_.args.find(name); it != setup_.args.end()) return &it->second;
  if (const auto it = setup_.graph->bound.find(name); it != setup_.graph->bound.end()) return &it->second;
  return nullptr;
}

void Instance::unknown_arg(const Definition& callee, const std::string& name, const Location& where) const {
  std::vector<std::string> known;
  for (const ArgDef& a : callee.args) known.push_back(a.name);
  for (const ImportDef& i : callee.imports) known.push_back(i.name);
  const std::string hint = did_you_mean(name, known);
  fail("E0229 unknown-arg", where, "graph '" + callee.name + "' has no arg '" + name + "'",
       {"help: " + (hint.empty() ? "" : hint + " ") + callee.signature()});
}

std::map<std::string, Thunk> Instance::arg_thunks(const GraphValue& callee, const std::vector<ir::Binding>& args,
                                                  std::optional<int> index) {
  std::map<std::string, Thunk> out;
  for (const ir::Binding& b : args) {
    if (!callee.definition->has_arg(b.name)) unknown_arg(*callee.definition, b.name, at(b.at));
    // The binding is owned by the definition (or the graph value), which outlives the expansion's thunks.
    const Member* m = callee.definition->static_member(b.name);
    if (m->kind == Member::Kind::kImport) {
      out[b.name] = [this, e = b.value, index]() -> Meaning { return graph_value(e, index); };
    } else {
      out[b.name] = [this, e = b.value, index, stem = path() + b.name]() { return evaluate(e, stem, index); };
    }
  }
  return out;
}

Location Instance::given_at(const std::string& arg) const {
  const Definition& d = definition();
  if (d.static_member(arg) == nullptr) return d.outer != nullptr ? setup_.graph->scope->given_at(arg) : Location{};
  for (const GraphValue::Override& o : setup_.graph->overrides)
    if (o.path.size() == 1 && o.path[0] == arg) return o.at;
  for (const auto* places : {&setup_.args_at, &setup_.graph->bound_at})
    if (const auto it = places->find(arg); it != places->end()) return it->second;
  return {};
}

Location Instance::written_at(const ir::Expression& value) const {
  const bool is_name = value.kind == ir::Expression::Kind::kName && value.path.size() == 1;
  const Location given = is_name ? given_at(value.path[0]) : Location{};
  return given.known() ? given : at(value.at);
}

}  // namespace graphrun::frontend
