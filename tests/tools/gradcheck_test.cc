#include "tests/folders.h"
#include "tools/gradcheck/gradient_check.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "compiler/compile.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

ir::Graph cell() {
  GraphRequest request;
  request.path = tests::source_folder() + "/graphs/cells/atr.pbtxt";
  request.bindings = {{"input", "5", {}}, {"hidden", "4", {}}};
  return load_graph(request);
}

TEST(GradientCheck, PassesWhereTheGradientIsRight) {
  const GradientCheckOptions options;
  const GradientCheckResult result = check_gradients(cell(), options);
  EXPECT_TRUE(result.passed()) << result.error();
  EXPECT_FALSE(result.all_zero());
  for (const auto& tensor : result.tensors) EXPECT_GT(tensor.error, 0) << tensor.name << ": differences are never exact";
  std::map<std::string, std::string> kinds;
  for (const auto& tensor : result.tensors) kinds[tensor.name] = tensor.kind;
  EXPECT_EQ(kinds,
            (std::map<std::string, std::string>{{"W", "parameter"}, {"U", "parameter"}, {"x", "input"}, {"h", "state"}}));
}

// Every shipped cell; cells that can be computed in two ways, both ways.
TEST(GradientCheck, HoldsForEveryCell) {
  const std::vector<std::string> cells = {"adaptive_gru", "atr", "elman", "gru",  "lrn",
                                          "lstm",         "ran", "sru",   "ssru", "stacked"};
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_folder() + "/graphs/cells")) {
    files += entry.path().extension() == ".pbtxt";
  }
  EXPECT_EQ(files, cells.size()) << "a cell is missing here";
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> cases;
  for (const std::string& name : cells) cases.push_back({name, {}});
  cases.push_back({"gru", {{"reset_after", "false"}, {"input_bias", "true"}, {"hidden_bias", "true"}}});
  cases.push_back({"lstm", {{"input_bias", "true"}, {"hidden_bias", "true"}}});
  cases.push_back({"stacked", {{"cell", "cells/lstm.pbtxt"}, {"depth", "3"}}});
  cases.push_back({"atr", {{"layer_norm", "true"}, {"coupled", "true"}, {"tanh_output", "true"}}});
  for (const auto& [name, args] : cases) {
    GraphRequest request;
    request.path = tests::source_folder() + "/graphs/cells/" + name + ".pbtxt";
    request.bindings = {{"hidden", "4", {}}};
    if (name != "sru") request.bindings.push_back({"input", "5", {}});
    for (const auto& [arg, value] : args) request.bindings.push_back({arg, value, {}});
    const GradientCheckOptions options;
    const GradientCheckResult result = check_gradients(load_graph(request), options);
    EXPECT_TRUE(result.passed()) << name << ": " << result.error();
    EXPECT_FALSE(result.all_zero()) << name;
  }
}

// Finite differences keep the operands of stop_gradient constant, also in nested scans: otherwise they would include a slope
// that no gradient has.
TEST(GradientCheck, HoldsStillWhatIsStopped) {
  const std::string head =
      "name: \"stopped\"\ninput { name: \"x\" shape: \"[time, batch, 3]\" }\nparameter { name: \"W\" shape: \"[3, 3]\" }\n";
  const std::string cell =
      "name: \"inner\" input { name: \"x\" shape: \"[batch, 3]\" } input { name: \"W\" shape: \"[3, 3]\" }\n"
      "let: \"z = x @ W + h\" state { name: \"h\" shape: \"[batch, 3]\" next: \"tanh(z) * stop_gradient(z) ** 2\" }"
      " output: \"h = next(h)\"\n";
  const std::vector<std::string> bodies = {
      "let: \"z = x @ W\"\noutput: \"y = z * stop_gradient(z) + stop_gradient(tanh(z))\"\n",
      "let: \"z = x @ W\"\noutput: \"y = z + stop_gradient(floor(z + 0.5) - z)\"\n",
      "graph { " + cell + "}\nscan { name: \"s\" graph: \"inner\" each: \"x\" input: \"W\" }\noutput: \"y = s.h\"\n",
      "graph { name: \"outer\" input { name: \"x\" shape: \"[batch, 3]\" } input { name: \"W\" shape: \"[3, 3]\" }\n"
      "graph { " +
          cell +
          "}\nlet: \"xs = stack(x, stop_gradient(x @ W), axis=0)\"\n"
          "scan { name: \"s\" graph: \"inner\" each: \"x = xs\" input: \"W\" }\noutput: \"y = s.h\" }\n"
          "scan { name: \"o\" graph: \"outer\" each: \"x\" input: \"W\" reverse: true }\noutput: \"y = o.y\"\n"};
  for (const std::string& body : bodies) {
    SCOPED_TRACE(body);
    GraphRequest request;
    request.path = testing::TempDir() + "/stopped.pbtxt";
    std::ofstream(request.path) << head << body;
    const GradientCheckOptions options;
    const GradientCheckResult result = check_gradients(load_graph(request), options);
    EXPECT_TRUE(result.passed()) << result.error();
  }
}

// A graph whose state is read before its step: by the output only, and by the step too.
TEST(GradientCheck, HoldsForStatesReadBeforeTheirStep) {
  for (const auto& [next, output] : {std::pair("tanh(x @ W + h @ U)", "h"), std::pair("tanh(x @ W)", "sum(h)")}) {
    GraphRequest request;
    request.path = testing::TempDir() + "/srn.pbtxt";
    std::ofstream(request.path) << "name: \"srn\"\ninput { name: \"x\" shape: \"[batch, 4]\" }\n"
                                   "parameter { name: [\"W\", \"U\"] shape: \"[4, 4]\" }\n"
                                   "state { name: \"h\" shape: \"[batch, 4]\" next: \""
                                << next << "\" }\noutput: \"y = " << output << "\"\n";
    const GradientCheckOptions options;
    const GradientCheckResult result = check_gradients(load_graph(request), options);
    EXPECT_TRUE(result.passed()) << output << ": " << result.error();
    EXPECT_FALSE(result.all_zero()) << output;
  }
}

TEST(GradientCheck, FindsAGradientThatIsWrongByAThousandth) {
  GradientCheckOptions options;
  options.scale_derived = 1.001;
  const GradientCheckResult result = check_gradients(cell(), options);
  EXPECT_FALSE(result.passed());
  EXPECT_NEAR(result.error(), 1e-3, 1e-4);
}

GradientCheckResult checked(const std::string& parameter, const std::string& y, const GradientCheckOptions& options) {
  GraphRequest request;
  request.path = testing::TempDir() + "/constants.pbtxt";
  std::ofstream(request.path) << "name: \"constants\"\ninput { name: \"x\" shape: \"[batch, 4]\" }\nparameter { " << parameter
                              << " shape: \"[4]\" }\noutput: \"y = " << y << "\"\n";
  return check_gradients(load_graph(request), options);
}

// A time constant starts away from zero, and is drawn around its start.
TEST(GradientCheck, DrawsParametersAroundTheirDeclaredConstant) {
  for (const std::string amount : {"1", "0.02", "-3"}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      GradientCheckOptions options;
      options.seed = seed;
      const auto result = checked("name: \"tau\" init { constant: " + amount + " }", "x + (tanh(x) - x) / tau", options);
      EXPECT_TRUE(result.passed()) << amount << ", seed " << seed << ": " << result.error();
    }
  }
}

// Differences that are only rounding neither fail a correct gradient nor pass a wrong one.
TEST(GradientCheck, TellsWhatIsIllConditioned) {
  const GradientCheckOptions options;
  for (const double scale : {1.0, 2.0}) {
    GradientCheckOptions scaled;
    scaled.scale_derived = scale;
    const auto result = checked("name: \"w\"", "x * w + 1000000000000", scaled);
    EXPECT_EQ(result.verdict(), GradientVerdict::kIllConditioned);
    EXPECT_FALSE(result.passed());
  }
  // A large value alone is no mistake.
  GradientCheckOptions wrong;
  wrong.scale_derived = 1.001;
  EXPECT_TRUE(checked("name: \"w\"", "x * w * 1000000", options).passed());
  // A difference that rounding explains is no mistake, but is still reported.
  GradientCheckOptions exact;
  exact.tolerance = 0;
  const auto rounded = checked("name: \"w\"", "x * w", exact);
  EXPECT_TRUE(rounded.passed());
  EXPECT_GT(rounded.error(), 0);
  EXPECT_EQ(checked("name: \"w\"", "x * w * 1000000", wrong).verdict(), GradientVerdict::kWrong);
}

TEST(GradientCheck, DoesNotPassWhereNothingWasTested) {
  GradientCheckOptions options;
  options.scale_derived = 0;
  EXPECT_TRUE(check_gradients(cell(), options).all_zero());
  EXPECT_FALSE(GradientCheckResult().passed());
}

TEST(GradientCheck, TakesSizesByName) {
  GradientCheckOptions options;
  options.sizes = {{"batch", 1}};
  for (const auto& tensor : check_gradients(cell(), options).tensors) {
    if (tensor.name == "x") {
      EXPECT_EQ(tensor.sizes, "[1, 5]");
    }
  }
  options.sizes = {{"none", 1}};
  EXPECT_THROW(check_gradients(cell(), options), UserError);
}

}  // namespace
}  // namespace graphrun
