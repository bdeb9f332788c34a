// A graph's calls, loops and equations as boxes within boxes (compiler/dump/outline.h), and the page that shows them.
#include "compiler/dump/outline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/compile.h"
#include "compiler/dump/page.h"
#include "compiler/training.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Kind = Outline::Kind;

ir::Graph shipped(const std::string& name, const std::vector<std::pair<std::string, std::string>>& settings) {
  GraphRequest request;
  request.path = tests::source_folder() + "/graphs/" + name;
  for (const auto& [setting, value] : settings) request.bindings.push_back({setting, value, {}});
  return load_graph(request);
}

ir::Graph translator() {
  return shipped("translator.pbtxt", {{"source_vocabulary", "9"}, {"target_vocabulary", "8"}, {"embed", "4"}, {"hidden", "5"}});
}

// "decode/read/attend": the groups that contain a box, and its own name.
std::string path_of(const Outline& o, int box) {
  std::string path;
  for (; box > 0; box = o.boxes[static_cast<std::size_t>(box)].parent) {
    path = o.boxes[static_cast<std::size_t>(box)].name + (path.empty() ? "" : "/" + path);
  }
  return path;
}

std::vector<std::string> paths(const Outline& o, Kind kind) {
  std::vector<std::string> all;
  for (std::size_t i = 1; i < o.boxes.size(); ++i) {
    if (o.boxes[i].kind == kind) all.push_back(path_of(o, static_cast<int>(i)));
  }
  return all;
}

int box_at(const Outline& o, const std::string& path) {
  for (std::size_t i = 1; i < o.boxes.size(); ++i) {
    if (path_of(o, static_cast<int>(i)) == path) return static_cast<int>(i);
  }
  ADD_FAILURE() << "there is no box " << path;
  return 0;
}

bool has_arrow(const std::vector<Outline::Line>& arrows, int from, int to, bool feedback = false) {
  return std::any_of(arrows.begin(), arrows.end(),
                     [&](const Outline::Line& a) { return a.from == from && a.to == to && a.feedback == feedback; });
}

TEST(Outline, HasTheCallsOfTheFiles) {
  const Outline o = outline(translator());
  EXPECT_THAT(paths(o, Kind::kGroup),
              testing::UnorderedElementsAre("encode", "encode/forward", "encode/backward", "decode", "decode/read",
                                            "decode/read/first", "decode/read/attend", "decode/read/second", "decode/say"));
  const auto box = [&](const std::string& path) { return o.boxes[static_cast<std::size_t>(box_at(o, path))]; };
  EXPECT_EQ(box("encode/forward").text, "source_time steps");
  EXPECT_EQ(box("encode/backward").text, "source_time steps, last first");
  EXPECT_EQ(box("decode").text, "target_time steps");
  EXPECT_EQ(box("encode").text, "");
}

TEST(Outline, HasEquationsWithTheirOperators) {
  const Outline o = outline(translator());
  const int f = box_at(o, "encode/forward/f");
  EXPECT_EQ(o.boxes[static_cast<std::size_t>(f)].text, "f = sigmoid(p - q)");
  EXPECT_EQ(o.boxes[static_cast<std::size_t>(f)].type, "FLOAT[batch, 5]");
  std::vector<std::string> inside;
  for (const Outline::Part& box : o.boxes) {
    if (box.parent == f && box.kind == Kind::kNode) inside.push_back(box.op);
  }
  EXPECT_THAT(inside, testing::UnorderedElementsAre("sub", "sigmoid"));
  // One of several equations in a string.
  const auto loss =
      std::find_if(o.boxes.begin(), o.boxes.end(), [](const auto& b) { return b.kind == Kind::kEquation && b.name == "loss"; });
  ASSERT_NE(loss, o.boxes.end());
  EXPECT_EQ(loss->text, "loss = sum(nll) / batch");
  // A single operator stands for its equation.
  EXPECT_EQ(o.boxes[static_cast<std::size_t>(box_at(o, "decode/decode.word"))].text, "word = gather(embedding, y)");
}

TEST(Outline, DrawsArrowsBetweenNeighbors) {
  const Outline o = outline(translator());
  EXPECT_TRUE(has_arrow(o.arrows, box_at(o, "encode"), box_at(o, "decode")));
  EXPECT_TRUE(has_arrow(o.arrows, box_at(o, "encode/forward/f"), box_at(o, "encode/forward/n")));
  EXPECT_TRUE(has_arrow(o.arrows, box_at(o, "decode/read/attend"), box_at(o, "decode/read/second")));
  for (const Outline::Line& a : o.arrows) {
    EXPECT_EQ(o.boxes[static_cast<std::size_t>(a.from)].parent, o.boxes[static_cast<std::size_t>(a.to)].parent);
  }
  // From one step to the next.
  const int state = box_at(o, "encode/forward/encode.forward.h.before");
  EXPECT_EQ(o.boxes[static_cast<std::size_t>(state)].kind, Kind::kState);
  EXPECT_TRUE(std::any_of(o.arrows.begin(), o.arrows.end(), [&](const auto& a) { return a.to == state && a.feedback; }));
  // What comes from outside enters by a port.
  const std::vector<std::string> ports = paths(o, Kind::kPort);
  EXPECT_THAT(ports, Contains("decode/read/encode.annotations"));
  EXPECT_THAT(ports, Contains("encode/forward/f/encode.forward.wx"));
}

TEST(Outline, PutsParentsBeforeTheirChildren) {
  const Outline o = outline(translator());
  EXPECT_EQ(o.boxes[0].parent, -1);
  for (std::size_t i = 1; i < o.boxes.size(); ++i) {
    ASSERT_GE(o.boxes[i].parent, 0);
    ASSERT_LT(o.boxes[i].parent, static_cast<int>(i));
  }
}

TEST(Outline, TellsInstancesOfRepeatedGraphsApart) {
  const Outline o = outline(shipped("transformer.pbtxt", {{"source_vocabulary", "9"},
                                                          {"target_vocabulary", "8"},
                                                          {"width", "8"},
                                                          {"inner", "8"},
                                                          {"heads", "2"},
                                                          {"depth", "2"}}));
  const std::vector<std::string> groups = paths(o, Kind::kGroup);
  EXPECT_THAT(groups, testing::AllOf(Contains("encode[0]"), Contains("encode[1]"), Contains("decode/layers[0]/cross"),
                                     Contains("decode/layers[1]/cross")));
  EXPECT_THAT(groups, Not(Contains("encode")));
}

TEST(Outline, KeepsTheGradientAndTheUpdatesApart) {
  TrainOptions train;
  train.minimize = "loss";
  std::vector<Outline> stages;
  CompileOptions options;
  options.observe = [&](const std::string& stage, const ir::Graph& graph, double) {
    if (stage == "differentiated" || stage == "scheduled") stages.push_back(outline(graph));
  };
  compile(translator(), options, &train);
  ASSERT_EQ(stages.size(), 2u);
  for (const Outline& o : stages) {
    const std::vector<std::string> groups = paths(o, Kind::kGroup);
    EXPECT_THAT(groups, testing::AllOf(Contains("gradient"), Contains("updates"), Contains("gradient/decode/read/attend"),
                                       Contains("encode/forward")));
    for (std::size_t i = 0; i < o.boxes.size(); ++i) {
      if (o.boxes[i].kind != Kind::kNode) continue;
      const std::string path = path_of(o, static_cast<int>(i));
      EXPECT_EQ(path.starts_with("gradient/"), o.boxes[i].gradient && !path.starts_with("updates/")) << path;
    }
  }
}

// A product in a loop counts at every step; moved out of the loop it counts the same, unless it was one for each step.
TEST(Outline, CountsTheOperationsOfProducts) {
  std::vector<Outline> stages = {outline(translator())};
  CompileOptions options;
  options.observe = [&](const std::string& stage, const ir::Graph& graph, double) {
    if (stage == "scheduled") stages.push_back(outline(graph));
  };
  compile(translator(), options);
  ASSERT_EQ(stages.size(), 2u);
  const auto operations = [](const Outline& o, const std::string& path) {
    return o.boxes[static_cast<std::size_t>(box_at(o, path))].operations.str();
  };
  for (const Outline& o : stages) {
    // x @ W and h @ U, of 4 and 5 numbers, to 5.
    EXPECT_EQ(operations(o, "encode/forward"), "90*batch*source_time");
    EXPECT_EQ(operations(o, "encode"), "180*batch*source_time");
  }
  EXPECT_EQ(stages[0].boxes[0].operations.str(),
            "200*batch*source_time*target_time+180*batch*source_time+556*batch*target_time+100*batch");
  EXPECT_EQ(stages[1].boxes[0].operations.str(), "380*batch*source_time+556*batch*target_time+100*batch");  // attention's keys
}

TEST(Page, HoldsEveryStageAndTheFiles) {
  const ir::Graph graph = translator();
  Page page;
  page.title = "a </script> & <b> {{DATA}}";
  page.stages.push_back({"checked", outline(graph)});
  page.sizes = {{Symbol::named("batch"), 3}};
  const std::string text = html(page);
  EXPECT_THAT(text, HasSubstr("<title>a &lt;/script&gt; &amp; &lt;b&gt; {{DATA}}</title>"));
  for (const std::string part : {"{{TITLE}}", "{{STYLE}}", "{{SCRIPT}}"}) EXPECT_THAT(text, Not(HasSubstr(part)));
  const std::string begin = "<script id=\"data\" type=\"application/json\">";
  const std::size_t at = text.find(begin) + begin.size();
  const auto data = nlohmann::json::parse(text.substr(at, text.find("</script>", at) - at));
  EXPECT_EQ(data["title"], page.title);
  EXPECT_EQ(data["sizes"]["batch"], 3);
  ASSERT_EQ(data["stages"].size(), 1u);
  const auto& boxes = data["stages"][0]["boxes"];
  ASSERT_EQ(boxes.size(), page.stages[0].outline.boxes.size());
  EXPECT_EQ(data["stages"][0]["arrows"].size(), page.stages[0].outline.arrows.size());
  for (const auto& file : data["files"]) EXPECT_THAT(file["text"].get<std::string>(), HasSubstr("name:")) << file["path"];
  // Children lie within their parents.
  for (const auto& box : boxes) {
    if (box["p"] < 0) continue;
    const auto& parent = boxes[box["p"].get<std::size_t>()];
    EXPECT_GE(box["r"][0].get<double>(), -0.5) << box["n"];
    EXPECT_LE(box["r"][0].get<double>() + box["r"][2].get<double>(), parent["i"][0].get<double>() + 0.5) << box["n"];
    EXPECT_LE(box["r"][1].get<double>() + box["r"][3].get<double>(), parent["i"][1].get<double>() + 0.5) << box["n"];
  }
  for (const auto& arrow : data["stages"][0]["arrows"]) EXPECT_GE(arrow[5].size(), 8u) << arrow;
}

}  // namespace
}  // namespace graphrun
