// The types of the names in a graph's file, as found by its expansion.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/ir/graph.h"

namespace graphrun::mutants {

class KnownTypes {
 public:
  KnownTypes() = default;
  explicit KnownTypes(const ir::Graph& expanded);

  // Null if unknown. `root`: the file itself reads the name, not a graph inside it.
  const ir::TensorType* find(const std::string& name, bool root) const;
  void add(const std::string& name, const ir::TensorType& type);

 private:
  void read(const ir::Graph& graph, bool root);
  void note(const std::string& path, const ir::TensorType& type);

  std::map<std::string, ir::TensorType> of_root_;
  std::map<std::string, std::optional<ir::TensorType>> of_paths_;  // by every suffix of a path; nothing where they differ
};

}  // namespace graphrun::mutants
