// What the tests that hold networks against numbers made elsewhere share.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace graphrun::tests {

// The folder tests/fixtures/NAME: a file NAME.safetensors for each network, and index.json, which tells of each "graph", "args"
// (name: expression) and "training" (label smoothing counts; there is no dropout then).
class NetworkFixtures {
 public:
  explicit NetworkFixtures(const std::string& name);

  std::vector<std::string> names() const;
  std::string tensors(const std::string& name) const { return (folder_ / (name + ".safetensors")).string(); }
  const nlohmann::json& entry(const std::string& name) const { return index_.at(name); }
  GraphRequest request(const std::string& name, bool training) const;
  // As its entry says; false where it says nothing.
  GraphRequest request(const std::string& name) const;

 private:
  std::filesystem::path folder_;
  nlohmann::json index_;
};

// A graph with the outputs "scalar", the sum of y * y + y over all its floating outputs, and "d.NAME", the scalar's gradient by
// each parameter; then its own outputs.
struct WithGradients {
  ir::Graph graph;
  std::vector<std::string> parameters;
};
WithGradients with_gradients(ir::Graph graph, const TapeOptions& tape = {});

}  // namespace graphrun::tests
