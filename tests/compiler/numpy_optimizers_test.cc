// Optimizers against steps that tests/reference/numpy_optimizers.py made from the papers, in both precisions. The loss is
// linear in the parameters, so that their gradients are what is fed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/execute/executable.h"
#include "runtime/tensor/safetensors.h"
#include "tests/compiler/network_fixture.h"
#include "tests/folders.h"
#include "tests/runtime/temporary_folder.h"

namespace graphrun {
namespace {

constexpr const char* kGraph = R"graph(name: "linear"
input { name: "gW" shape: "[5, 7]" }
input { name: "gb" shape: "[6]" }
input { name: "gT" shape: "[2, 4, 3]" }
parameter { name: "W" shape: "[5, 7]" }
parameter { name: "b" shape: "[6]" }
parameter { name: "T" shape: "[2, 4, 3]" }
output: "loss = sum(gW * W) + sum(gb * b) + sum(gT * T)"
)graph";
constexpr const char* kNames[] = {"W", "b", "T"};

const tests::NetworkFixtures& optimizer_steps() {
  static const tests::NetworkFixtures all("numpy_optimizers");
  return all;
}

class NumpyOptimizers : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_agreement(Precision precision, double tolerance) {
    const nlohmann::json& entry = optimizer_steps().entry(GetParam());
    const NamedTensors all = read_safetensors(optimizer_steps().tensors(GetParam()));
    put_bytes(folder_ / "linear.pbtxt", kGraph);
    GraphRequest request;
    request.path = folder_ / "linear.pbtxt";
    request.graphs_root = tests::source_folder() + "/graphs";
    TrainOptions train;
    train.minimize = "loss";
    train.optimizer = entry.at("optimizer");
    for (const auto& [name, value] : entry.at("attributes").items())
      train.attributes.emplace_back(name, value.is_boolean() ? Attribute(value.get<bool>()) : Attribute(value.get<double>()));
    CompileOptions options;
    options.precision = precision;
    const DType dtype = concrete(Type::kFloat, precision);
    const auto variables = std::make_shared<Variables>();
    Program program = compile(load_graph(request), options, &train);
    initialize(program, *variables, 0);
    Executable executable(std::move(program), variables);
    for (const char* name : kNames) variables->set(name, all.at(std::string("parameter/") + name).converted(dtype));
    for (int step = 1; all.count("after/" + std::to_string(step) + "/W") != 0; ++step) {
      const std::string at = "/" + std::to_string(step) + "/";
      Feeds feeds;
      for (const FeedSpec& feed : executable.program().feeds) {
        feeds[feed.name] = feed.name == kLearningRate
                               ? Tensor::of<double>({}, {entry.at("rate").get<double>()}).converted(dtype)
                           : feed.name == kUpdateCount ? Tensor::of<double>({}, {static_cast<double>(step)}).converted(dtype)
                                                       : all.at("gradient" + at + feed.name.substr(1)).converted(dtype);
      }
      executable.run(feeds);
      for (const char* name : kNames) {
        const Tensor &found = variables->at(name), &expected = all.at("after" + at + name);
        for (std::int64_t i = 0; i < expected.count(); ++i)
          ASSERT_NEAR(found.at(i), expected.at(i), tolerance) << name << "[" << i << "], step " << step;
      }
    }
  }
  TemporaryFolder folder_;
};

TEST_P(NumpyOptimizers, AgreeInDoublePrecision) { expect_agreement(Precision::kFloat64, 1e-13); }
TEST_P(NumpyOptimizers, AgreeInSinglePrecision) { expect_agreement(Precision::kFloat32, 2e-6); }

INSTANTIATE_TEST_SUITE_P(Steps, NumpyOptimizers, ::testing::ValuesIn(optimizer_steps().names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace graphrun
