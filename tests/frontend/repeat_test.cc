// What a repetition leaves to the next one: an output by the input's name, or by another, as `next` says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/execute/executable.h"
#include "tests/folders.h"
#include "tests/frontend/graph_file.h"

namespace graphrun {
namespace {

TEST(RepeatNext, TakesAnOutputOfAnotherName) {
  const ir::Graph graph = load_graph(tests::request_of(
      "name: \"g\"\ninput { name: \"x\" shape: \"[batch, 2]\" }\n"
      "repeat { name: \"own\" graph: \"layer\" times: \"3\" carry: \"x\" }\n"
      "repeat { name: \"other\" graph: \"layer\" times: \"3\" carry: \"x\" next: \"x = h\" parameters: \"own\" }\n"
      "repeat { name: \"none\" graph: \"layer\" times: \"0\" carry: \"x\" next: \"x = h\" }\n"
      "graph { name: \"layer\" input { name: \"x\" shape: \"[batch, 2]\" }\n"
      "  parameter { name: \"W\" shape: \"[2, 2]\" } let: \"y = tanh(x @ W)\" output: \"x = y, h = y, twice = 2 * y\" }\n"
      "output: \"own = own.x, other = other.x, all = other.h, none = none.x\"\n"));
  EXPECT_EQ(str(graph.type(graph.output("all")->value).shape), "[3, batch, 2]");
  auto variables = std::make_shared<Variables>();
  Program program = compile(graph, {});
  initialize(program, *variables, 1);
  Executable executable(std::move(program), variables);
  const std::vector<Tensor> found = executable.run({{"x", Tensor::of<float>({1, 2}, {0.5, -1})}});
  for (std::int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found[0].at(i), found[1].at(i));
    EXPECT_EQ(found[2].at(4 + i), found[1].at(i));
    EXPECT_NE(found[2].at(2 + i), found[1].at(i));
    EXPECT_EQ(found[3].at(i), i == 0 ? 0.5 : -1);
  }
}

std::set<std::string> parameters_of_stack(const std::string& cell) {
  GraphRequest request;
  request.path = "cells/stacked.pbtxt";
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  for (const auto& [name, value] :
       {std::pair<std::string, std::string>("cell", cell), {"depth", "3"}, {"hidden", "4"}, {"input", "2"}})
    request.bindings.push_back({name, value, {}});
  const ir::Graph graph = load_graph(request);
  std::set<std::string> names;
  for (const ir::Variable& v : graph.variables) names.insert(graph.value(v.value).name + " " + str(graph.type(v.value).shape));
  return names;
}

// A cell of one state and one of two, their widths those of what they read.
TEST(RepeatNext, StacksAnyCell) {
  EXPECT_THAT(parameters_of_stack("cells/atr.pbtxt"),
              testing::IsSupersetOf({"layers.0.W [2, 4]", "layers.1.W [4, 4]", "layers.2.U [4, 4]", "layers.2.h [batch, 4]"}));
  EXPECT_THAT(parameters_of_stack("cells/lstm.pbtxt"),
              testing::IsSupersetOf({"layers.0.c [batch, 4]", "layers.2.c [batch, 4]"}));
}

}  // namespace
}  // namespace graphrun
