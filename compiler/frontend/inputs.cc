// What an instance takes from outside: its args, the value of each and where it was written; its inputs, by value or as feeds
// of the root; and its parameters.
#include <algorithm>

#include "compiler/frontend/evaluate.h"
#include "compiler/frontend/instance.h"

namespace graphrun::frontend {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // of a graph's parameters

}  // namespace

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

Meaning Instance::input(const std::string& name) {
  const InputDef& d = definition().inputs[definition().member(name)->index];
  return once("input " + name, d.at, [&]() -> Meaning {
    const auto it = setup_.inputs.find(name);
    if (it == setup_.inputs.end()) {
      if (setup_.root) return root_input(d);
      fail("E0231 missing-input", at(d.at),
           "graph '" + definition().name + "' needs the input '" + name + "' here, and the call gives none",
           {"help: input: \"" + name + " = …\"", "note: " + definition().signature()});
    }
    Meaning v = it->second();
    if (v.number() || v.dim()) return v;  // a number matches any shape
    if (v.stack()) v = stacked(v, region(), at(d.at));
    if (!v.tensor()) fail("E0303 wrong-type", at(d.at), "input '" + name + "' takes a tensor, found " + v.describe());
    const ir::TensorType type = v.tensor()->region->type(v.tensor()->id);
    std::vector<std::string> notes;
    if (const auto origin = setup_.origins.find(name); origin != setup_.origins.end()) notes.push_back(origin->second);
    if (type.type != d.type) {
      notes.insert(notes.begin(), "help: cast(x, type='" + std::string(name_of(d.type)) + "') changes a type");
      fail("E0303 wrong-type", at(d.at), "input '" + name + "' is " + std::string(name_of(d.type)) + ", found " + type.str(),
           std::move(notes));
    }
    if (type.shape.empty()) return v;
    sizes_.fit(type, d.shape, "input '" + name + "'", d.at, notes);
    return v;
  });
}

Meaning Instance::root_input(const InputDef& d) {
  Region& r = region();
  const ir::TensorType type{d.type, sizes_.shape(d.shape)};
  const ir::ValueId id = r.builder.input(d.name, type);
  ir::Input& in = r.graph.inputs.back();
  if (d.below) in.below = sizes_.size(*d.below);
  if (!d.lengths_of.empty()) {
    const Meaning s = sizes_.symbol(d.lengths_of, d.at);
    if (s.dim()) in.lengths_of = s.dim()->as_symbol();
  }
  return r.ref(id);
}

Meaning Instance::parameter(const ParameterDef& d) {
  return once("parameter " + d.name, d.at, [&]() -> Meaning {
    const std::string full = setup_.parameters_path + d.name;
    if (d.of.empty()) return plain_parameter(d, full);
    return fill(states_.tree_of(d.of, d.at), [&](const Leaf& leaf) { return plain_parameter(d, full + "." + dotted(leaf)); });
  });
}

Meaning Instance::plain_parameter(const ParameterDef& d, const std::string& full_name) {
  const ir::TensorType type{Type::kFloat, sizes_.shape(d.shape)};
  std::int64_t elements = 1;
  for (const Dim& dim : type.shape) {
    if (!dim.is_constant()) {
      fail("E0232 unknown-parameter-size", at(d.at),
           "parameter '" + d.name + "' has the shape " + str(type.shape) + ", and " + dim.str() + " is unknown before run time",
           {setup_.root ? "help: --set " + dim.str() + "=NUMBER" : "help: a parameter's shape needs numbers"});
    }
    if (dim.constant() != 0 && elements > kMostElements / std::max<std::int64_t>(1, dim.constant())) {
      fail("E0309 bad-size", at(d.at), "parameter '" + full_name + "' " + str(type.shape) + " has more than 2^40 elements");
    }
    elements *= dim.constant();
  }
  if (elements == 0) {
    for (std::size_t i = 0; i < d.shape.size(); ++i) {
      const Location given = written_at(d.shape[i]), used = at(d.shape[i].at);
      if (type.shape[i] != Dim(0) || given.str() == used.str()) continue;
      fail("E0309 bad-size", given, "parameters have this size, so it must be at least 1",
           {"note: '" + full_name + "' is one of them, at " + used.str()});
    }
    fail("E0309 bad-size", at(d.at),
         "parameter '" + full_name + "' " + str(type.shape) + " has no elements: a size of it is 0");
  }
  Region& root = expansion_.root;
  if (const auto it = expansion_.parameters.find(full_name); it != expansion_.parameters.end()) {
    if (root.type(it->second) != type) {
      fail("E0233 shared-shape", at(d.at),
           "parameter '" + full_name + "' is shared as " + root.type(it->second).str() + " and as " + type.str());
    }
    return root.ref(it->second);
  }
  if ((expansion_.parameter_elements += elements) > kMostElements) {
    fail("E0309 bad-size", at(d.at),
         "with parameter '" + full_name + "' " + str(type.shape) + " the graph has more than 2^40 numbers");
  }
  ir::Variable v;
  v.kind = ir::Variable::Kind::kParameter;
  v.trainable = d.trainable;
  v.at = at(d.at);
  v.init = d.init ? *d.init : ir::default_initializer(type.shape);
  const ir::ValueId id = root.builder.variable(full_name, type, v);
  expansion_.parameters.emplace(full_name, id);
  return root.ref(id);
}

}  // namespace graphrun::frontend
