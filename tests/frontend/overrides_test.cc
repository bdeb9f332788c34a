// Args of graphs that a graph imports, given by path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "compiler/compile.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::set<std::string> parameters(std::vector<std::pair<std::string, std::string>> bindings) {
  GraphRequest request;
  request.path = "translator.pbtxt";
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  bindings.insert(bindings.end(), {{"source_vocabulary", "5"}, {"target_vocabulary", "5"}, {"embed", "4"}, {"hidden", "4"}});
  for (const auto& [name, value] : bindings) request.bindings.push_back({name, value, {}});
  const ir::Graph graph = load_graph(request);
  std::set<std::string> names;
  for (const ir::Variable& v : graph.variables) names.insert(graph.value(v.value).name);
  return names;
}

TEST(ArgOfAnImport, IsAGraph) {
  const auto names = parameters({{"decoder.readout", "readouts/adaptive.pbtxt"}});
  EXPECT_THAT(names, IsSupersetOf({"decode.say.M", "decode.say.Vs"}));
}

TEST(ArgOfAnImport, IsANumber) {
  EXPECT_THAT(parameters({}), Not(Contains("decode.P")));
  EXPECT_THAT(parameters({{"decoder.tied", "false"}}), Contains("decode.P"));
}

TEST(ArgOfAnImport, MayBeAnImportsImport) {
  const auto names = parameters({{"decoder.conditional.attention", "attention/multiplicative.pbtxt"}});
  EXPECT_THAT(names, Contains("decode.read.attend.Wa"));
  EXPECT_THAT(names, Not(Contains("decode.read.attend.v")));
}

// translator.pbtxt hands its own cell to its decoder.
TEST(ArgOfAnImport, IsStrongerThanWhatACallGives) {
  const auto names = parameters({{"cell", "cells/atr.pbtxt"}, {"decoder.cell", "cells/lstm.pbtxt"}});
  EXPECT_THAT(names, IsSupersetOf({"decode.read.first.Wg", "decode.read.second.Ug", "decode.read.Ws.c", "encode.forward.W"}));
  EXPECT_THAT(names, Not(Contains("encode.forward.Wg")));
}

TEST(ArgOfAnImport, IsOfTheGraphGivenBeside) {
  const auto names = parameters(
      {{"decoder.depth", "3"}, {"decoder", "decoders/gnmt.pbtxt"}, {"encoder.depth", "2"}, {"encoder", "encoders/gnmt.pbtxt"}});
  EXPECT_THAT(names, IsSupersetOf({"decode.layers.2.read.W", "encode.layers.0.read.W"}));
  EXPECT_THAT(names, Not(Contains("decode.layers.3.read.W")));
  EXPECT_THAT(names, Not(Contains("encode.layers.1.read.W")));
}

TEST(ArgOfAnImport, TravelsWithTheGraph) {
  EXPECT_THAT(parameters({{"cell.input_bias", "true"}}),
              IsSupersetOf({"encode.forward.bw", "decode.read.first.bw", "decode.read.second.bw"}));
}

}  // namespace
}  // namespace graphrun
