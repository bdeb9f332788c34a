#include "tests/mutants/known_types.h"

namespace graphrun::mutants {

KnownTypes::KnownTypes(const ir::Graph& expanded) { read(expanded, true); }

void KnownTypes::read(const ir::Graph& graph, bool root) {
  const auto all = [&](const std::string& name, const ir::TensorType& type) {
    if (root) of_root_.emplace(name, type);
    note(name, type);
  };
  for (const ir::Value& value : graph.values) all(value.name, value.type);
  std::map<std::string, const ir::Value*> by_name;
  for (const ir::Value& value : graph.values) by_name[value.name] = &value;
  for (const auto& [other, name] : graph.other_names)
    if (const auto found = by_name.find(name); found != by_name.end()) all(other, found->second->type);
  for (const ir::Node& node : graph.nodes)
    for (const ir::Graph& region : node.regions) read(region, false);
}

void KnownTypes::note(const std::string& path, const ir::TensorType& type) {
  for (std::size_t at = 0; at != std::string::npos;) {
    const auto [it, fresh] = of_paths_.emplace(path.substr(at), type);
    if (!fresh && it->second && *it->second != type) it->second.reset();
    at = path.find('.', at);
    if (at != std::string::npos) ++at;
  }
}

const ir::TensorType* KnownTypes::find(const std::string& name, bool root) const {
  if (root) {
    if (const auto found = of_root_.find(name); found != of_root_.end()) return &found->second;
  }
  const auto found = of_paths_.find(name);
  return found != of_paths_.end() && found->second ? &*found->second : nullptr;
}

void KnownTypes::add(const std::string& name, const ir::TensorType& type) {
  of_root_[name] = type;
  of_paths_[name] = type;
}

}  // namespace graphrun::mutants
