#include "tests/compiler/network_fixture.h"

#include <fstream>

#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"
#include "tests/folders.h"

namespace graphrun::tests {

namespace fs = std::filesystem;

NetworkFixtures::NetworkFixtures(const std::string& name) : folder_(fs::path(source_folder()) / "tests/fixtures" / name) {
  std::ifstream in(folder_ / "index.json");
  index_ = nlohmann::json::parse(in);
}

std::vector<std::string> NetworkFixtures::names() const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : index_.items()) out.push_back(name);
  return out;
}

GraphRequest NetworkFixtures::request(const std::string& name, bool training) const {
  const nlohmann::json& entry = index_.at(name);
  GraphRequest request;
  request.path = entry.at("graph");
  request.from_graphs = true;
  request.graphs_root = (fs::path(source_folder()) / "graphs").string();
  request.training = training;
  for (const auto& [arg, value] : entry.at("args").items()) request.bindings.push_back({arg, value.get<std::string>(), {}});
  return request;
}

GraphRequest NetworkFixtures::request(const std::string& name) const {
  return request(name, index_.at(name).value("training", false));
}

WithGradients with_gradients(ir::Graph graph, const TapeOptions& tape) {
  ir::Builder b(graph);
  const std::vector<ir::Output> own = graph.outputs;
  ir::ValueId scalar = ir::kNone;
  for (const ir::Output& o : own) {
    if (graph.type(o.value).type != Type::kFloat) continue;
    const ir::ValueId part = b.op("sum", {b.equation("y * y + y", {{"y", o.value}})});
    scalar = scalar == ir::kNone ? part : b.op("add", {scalar, part});
  }
  std::vector<ir::ValueId> parameters;
  for (const ir::Variable& v : graph.variables) {
    if (v.kind == ir::Variable::Kind::kParameter) parameters.push_back(v.value);
  }
  const std::vector<ir::ValueId> gradients = differentiate(graph, scalar, parameters, tape);
  WithGradients made;
  graph.outputs = {{"scalar", scalar}};
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    made.parameters.push_back(graph.value(parameters[k]).name);
    GRAPHRUN_CHECK(gradients[k] != ir::kNone, "no gradient of " + made.parameters.back());
    graph.outputs.push_back({"d." + made.parameters.back(), gradients[k]});
  }
  graph.outputs.insert(graph.outputs.end(), own.begin(), own.end());
  made.graph = std::move(graph);
  return made;
}

}  // namespace graphrun::tests
