// The names of values and the order of equations do not affect what the compiler produces.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/printer.h"
#include "compiler/passes/pass.h"
#include "tests/folders.h"
#include "tests/tools/scratch.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

const fs::path kGraphs = fs::path(tests::source_folder()) / "graphs";

std::vector<std::string> cells() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(kGraphs / "cells")) out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

// A layer of the cell, in that file, over a sequence.
ir::Graph layer_of(const std::string& file) {
  GraphRequest request;
  request.path = (fs::path(tests::source_folder()) / "tests/bench/layer.pbtxt").string();
  request.graphs_root = kGraphs.string();
  request.bindings = {{"cell", file, {}}, {"width", "6", {}}, {"hidden", "6", {}}};
  return load_graph(request);
}
ir::Graph layer(const std::string& cell) { return layer_of("cells/" + cell + ".pbtxt"); }

// The same for a number of steps that is known when it is compiled.
ir::Graph layer_of_steps(const std::string& cell, int time) {
  GraphRequest request;
  request.path = (fs::path(tests::source_folder()) / "tests/bench/resident_layer.pbtxt").string();
  request.graphs_root = kGraphs.string();
  request.bindings = {{"cell", "cells/" + cell + ".pbtxt", {}}, {"width", "6", {}}, {"hidden", "6", {}}, {"batch", "3", {}}};
  request.bindings.push_back({"time", std::to_string(time), {}});
  return load_graph(request);
}

void rename(ir::Graph& g, const std::function<std::string(std::size_t)>& name) {
  for (std::size_t v = 0; v < g.values.size(); ++v) g.values[v].name = name(v);
  for (ir::Node& node : g.nodes) {
    for (ir::Graph& region : node.regions) {
      region.name = "body";
      for (ir::Output& o : region.outputs) o.name = "out";
      rename(region, name);
    }
  }
}

// By position, in every region: what is left is the structure.
std::string structure(ir::Graph g) {
  rename(g, [](std::size_t v) { return "v" + std::to_string(v); });
  for (std::size_t o = 0; o < g.outputs.size(); ++o) g.outputs[o].name = "o" + std::to_string(o);
  return print(g);
}

// With the gradient by every parameter.
ir::Graph compiled(ir::Graph g) {
  g = run_early_passes(std::move(g));
  std::vector<ir::ValueId> parameters;
  for (const ir::Variable& v : g.variables) parameters.push_back(v.value);
  const std::vector<ir::ValueId> gradients = differentiate(g, g.outputs[0].value, parameters);
  for (std::size_t i = 0; i < gradients.size(); ++i) g.outputs.push_back({"d" + std::to_string(i), gradients[i]});
  return run_passes(std::move(g));
}

class Names : public ::testing::TestWithParam<std::string> {};

TEST_P(Names, OfValuesChangeNothing) {
  const ir::Graph as_written = layer(GetParam());
  const std::string expected = structure(compiled(as_written));
  EXPECT_NE(expected.find("fused"), std::string::npos);
  std::mt19937 random(7);
  for (int round = 0; round < 3; ++round) {
    ir::Graph renamed = as_written;
    std::vector<std::size_t> order(10000);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    rename(renamed, [&](std::size_t v) { return "name_" + std::to_string(order[v]); });
    EXPECT_EQ(structure(compiled(std::move(renamed))), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, Names, ::testing::ValuesIn(cells()), [](const auto& i) { return i.param; });

// How many there are of each op.
std::map<std::string, int> kernels(const ir::Graph& g) {
  std::map<std::string, int> count;
  const std::function<void(const ir::Graph&)> walk = [&](const ir::Graph& region) {
    for (const ir::Node& node : region.nodes) {
      ++count[node.op->name];
      for (const ir::Graph& inner : node.regions) walk(inner);
    }
  };
  walk(g);
  return count;
}

// A cell written op by op is the same cell.
TEST(Nodes, AreAsGoodAsEquations) {
  const std::string head = R"end(# proto-file: graphs/graph.proto
# proto-message: graphrun.Graph
name: "cell"
arg { name: "hidden" }
input { name: "x" shape: "[batch, input]" }
parameter { name: "W" shape: "[input, hidden]" }
parameter { name: "U" shape: "[hidden, hidden]" }
state { name: "h" shape: "[batch, hidden]" next: "n" }
output: "h = next(h)"
)end";
  const Scratch scratch;
  const std::string equations = scratch.file("equations.pbtxt", head + R"end(
let: "p = x @ W"  let: "q = h @ U"
let: "n = sigmoid(p + q) * p + sigmoid(p - q) * h"
)end");
  const std::string nodes = scratch.file("nodes.pbtxt", head + R"end(
node { name: "ip" op: "mul" input: "i" input: "p" }
node { name: "fh" op: "mul" input: "f" input: "h" }
node { name: "n" op: "add" input: "ip" input: "fh" }
node { name: "i" op: "sigmoid" input: "above" }
node { name: "f" op: "sigmoid" input: "below" }
node { name: "above" op: "add" input: "p" input: "q" }
node { name: "below" op: "sub" input: "p" input: "q" }
node { name: "q" op: "matmul" input: "h" input: "U" }
node { name: "p" op: "matmul" input: "x" input: "W" }
)end");
  const std::map<std::string, int> expected = kernels(compiled(layer_of(equations)));
  EXPECT_EQ(kernels(compiled(layer_of(nodes))), expected);
  EXPECT_EQ(kernels(compiled(layer("atr"))), expected);
}

TEST(Steps, HoweverManyAreTheSameKernels) {
  for (const std::string& cell : cells()) {
    EXPECT_EQ(kernels(compiled(layer_of_steps(cell, 3))), kernels(compiled(layer_of_steps(cell, 3000)))) << cell;
  }
}

// Independent equations in another order: the same kernels, as many of each.
TEST(Order, OfEquationsChangesNoKernels) {
  for (const std::string& cell : cells()) {
    const ir::Graph as_written = layer(cell);
    ir::Graph turned = as_written;
    for (ir::Node& node : turned.nodes) {
      if (!ir::is_scan(node)) continue;
      // The latest order that definitions allow: each node directly before its first reader.
      ir::Graph& body = node.regions[0];
      std::vector<ir::Node> reversed;
      std::vector<bool> placed(body.nodes.size());
      const std::function<void(std::size_t)> place = [&](std::size_t n) {
        if (placed[n]) return;
        placed[n] = true;
        for (auto v = body.nodes[n].inputs.rbegin(); v != body.nodes[n].inputs.rend(); ++v) {
          if (*v != ir::kNone && body.value(*v).node >= 0) place(static_cast<std::size_t>(body.value(*v).node));
        }
        reversed.push_back(body.nodes[n]);
      };
      for (std::size_t n = body.nodes.size(); n-- > 0;) place(n);
      body.nodes = std::move(reversed);
      for (std::size_t n = 0; n < body.nodes.size(); ++n) {
        for (ir::ValueId v : body.nodes[n].outputs) body.value(v).node = static_cast<std::int32_t>(n);
      }
    }
    EXPECT_EQ(kernels(compiled(std::move(turned))), kernels(compiled(as_written))) << cell;
  }
}

}  // namespace
}  // namespace graphrun
