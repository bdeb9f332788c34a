#include "compiler/dump/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compiler/dump/picture.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "tests/compiler/sample_graphs.h"

namespace graphrun {
namespace {

using ir::Graph;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Dump, KnowsItsFormats) {
  EXPECT_EQ(dump_format("svg"), DumpFormat::kSvg);
  EXPECT_EQ(dump_format("png"), std::nullopt);
  EXPECT_EQ(dump(test::recurrent_graph(), DumpFormat::kText), print(test::recurrent_graph()));
}

TEST(Json, HoldsEverything) {
  const auto j = nlohmann::json::parse(json(test::recurrent_graph()));
  EXPECT_EQ(j["name"], "recurrent");
  EXPECT_EQ(j["symbols"]["steps"], "time+1");
  EXPECT_EQ(j["inputs"][0]["below"], 10);
  EXPECT_EQ(j["inputs"][1]["lengths_of"], "time");
  EXPECT_EQ(j["variables"][0]["init"]["kind"], "uniform");
  EXPECT_EQ(j["variables"][0]["init"]["declared"], false);
  EXPECT_EQ(j["values"][0]["shape"], nlohmann::json({"time", "batch"}));
  const auto& scan = j["nodes"][1];
  EXPECT_EQ(scan["op"], "scan");
  EXPECT_EQ(scan["at"][0]["line"], 3);
  const auto& tanh = scan["regions"][0]["nodes"].back();
  EXPECT_EQ(tanh["op"], "tanh");
  EXPECT_EQ(tanh["at"].size(), 2u);
  EXPECT_EQ(tanh["at"][1]["file"], "model.pbtxt");
}

TEST(Json, WithstandsNamesAndNumbersOfEveryLook) {
  std::mt19937 random(2);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(nlohmann::json::accept(json(test::random_graph(random, 15))));
}

TEST(Dot, DrawsScansAsClustersAndStatesAsLoops) {
  const std::string text = dot(test::recurrent_graph());
  EXPECT_THAT(text, HasSubstr("subgraph cluster_0 {\n    label=\"scan cell: time steps\""));
  EXPECT_THAT(text, HasSubstr("label=\"logits\\nmatmul\\ntranspose_b = true\\nFLOAT[time, batch, 10]\""));
  EXPECT_THAT(text, HasSubstr("label=\"next\" style=dashed constraint=false"));
  EXPECT_THAT(text, HasSubstr("label=\"words\\ninput\\nINT32[time, batch]\""));
}

TEST(Dot, WritesConstantsIntoTheLabels) {
  const std::string text = dot(ir::parse(R"(graph "g" {
    input %x: FLOAT[2]
    %two = constant(; value=2, type="FLOAT")
    %y = mul(%x, %two)
    output "y" = %y
    output "two" = %two
  })",
                                         "test"));
  EXPECT_THAT(text, HasSubstr("mul, b = 2"));
  EXPECT_THAT(text, HasSubstr("shape=plaintext"));  // as an output it is drawn
}

TEST(Dot, HasNoBytesButOfUtf8) {
  const Picture picture{"好\xE4\xBD \xED\xA0\x80\"", {}, {}, {}};  // half a character, half a surrogate pair
  EXPECT_THAT(to_dot(picture), HasSubstr("digraph \"好?? ???\\\"\" {"));
}

TEST(Svg, IsAPicture) {
  const std::string text = svg(test::recurrent_graph());
  EXPECT_THAT(text, HasSubstr("<svg"));
  EXPECT_THAT(text, HasSubstr("</svg>"));
  EXPECT_THAT(text, HasSubstr("cell: time steps"));
  EXPECT_THAT(text, HasSubstr("matmul"));
}

TEST(Svg, DrawsRandomGraphs) {
  std::mt19937 random(9);
  for (int i = 0; i < 5; ++i) EXPECT_THAT(svg(test::random_graph(random, 15)), HasSubstr("</svg>"));
}

// 8 encoders of 100 layers of the same equations.
Graph tall_graph() {
  Graph g;
  g.name = "tall";
  ir::Builder b(g);
  const ir::ValueId x = b.input("x", {Type::kFloat, {Symbol::named("batch"), 4}});
  for (int encoder = 0; encoder < 8; ++encoder) {
    ir::ValueId h = x;
    for (int layer = 0; layer < 100; ++layer) {
      const std::string path = "encoder" + std::to_string(encoder) + ".layers." + std::to_string(layer);
      b.set_name(path + ".p");
      const ir::ValueId p = b.op("mul", {h, x});
      b.set_name(path + ".q");
      const ir::ValueId q = b.op("tanh", {p});
      b.set_name(path + ".h");
      h = b.op("add", {p, q});
    }
    g.outputs.push_back({"h" + std::to_string(encoder), h});
  }
  return g;
}

TEST(Svg, SumsUpWhatIsTooLarge) {
  const Graph g = tall_graph();
  ASSERT_GT(count_nodes(g), kMostBoxes);
  const Picture all = sum_up(g, 250);
  EXPECT_LT(all.boxes.size(), 60u);  // the layers of an encoder are one
  const Picture few = sum_up(g, 20);
  EXPECT_LE(few.boxes.size(), 30u);
  EXPECT_FALSE(few.arrows.empty());
  const std::string text = svg(g);
  EXPECT_THAT(text, HasSubstr("encoder3.layers"));
  EXPECT_THAT(text, HasSubstr("100 nodes"));
  EXPECT_THAT(text, Not(HasSubstr("layers.17")));
}

TEST(Pbtxt, WritesNodesAndLocalGraphs) {
  const std::string text = dump_pbtxt(test::recurrent_graph());
  EXPECT_THAT(text, HasSubstr("# proto-message: graphrun.Graph\n"));
  EXPECT_THAT(text, HasSubstr("input { name: \"words\" shape: \"[time, batch]\" type: INT32 below: \"10\" }"));
  EXPECT_THAT(text, HasSubstr("parameter { name: \"cell_U\" shape: \"[4, 4]\" init { uniform: 0.08 } doc: \"cell.U\" }"));
  EXPECT_THAT(text, HasSubstr("state { name: \"cell_h\" shape: \"[batch, 4]\" next: \"cell.end.h\" doc: \"cell.h\" }"));
  EXPECT_THAT(text, HasSubstr("graph {\n  name: \"cell_body\"\n"));
  EXPECT_THAT(text, HasSubstr("  state { name: \"h\" shape: \"[batch, 4]\" next: \"h_next\" }"));
  EXPECT_THAT(text,
              HasSubstr("scan { name: \"cell\" graph: \"cell_body\" each: \"x = embedded\" input: \"U = cell_U\" begin: \"h = "
                        "cell_h\" }"));
  EXPECT_THAT(
      text,
      HasSubstr("node { name: \"logits\" op: \"matmul\" input: \"cell.h\" input: \"E\" attribute: \"transpose_b = true\" }"));
  EXPECT_THAT(text, HasSubstr("output: \"loss = loss\""));
}

}  // namespace
}  // namespace graphrun
