// What an instance takes from outside: its inputs, by value or as feeds of the root, and its parameters.
#include <algorithm>

#include "compiler/frontend/evaluate.h"
#include "compiler/frontend/instance.h"

namespace graphrun::frontend {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // of a graph's parameters

}  // namespace

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
