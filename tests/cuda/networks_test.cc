// Every network of the papers, forward and backward, on the device compared with the CPU. This tests the device side of the
// executor: its copies, loops and memory, and the kernels that it launches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ops/indices.h"
#include "runtime/execute/executable.h"
#include "runtime/tensor/safetensors.h"
#include "tests/compiler/network_fixture.h"
#include "tests/cuda/device.h"

namespace graphrun {
namespace {

const tests::NetworkFixtures& fixtures() {
  static const tests::NetworkFixtures all("networks");
  return all;
}

class CudaNetwork : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { tests::tested_device(); }
};

TEST_P(CudaNetwork, ComputesWhatTheCpuComputes) {
  const NamedTensors tensors = read_safetensors(fixtures().tensors(GetParam()));
  const auto [graph, names] = tests::with_gradients(load_graph(fixtures().request(GetParam(), true)));
  CompileOptions options;
  options.precision = Precision::kFloat64;
  std::vector<std::vector<Tensor>> found;
  for (const Device* device : {&cpu_device(), &tests::tested_device()}) {
    auto variables = std::make_shared<Variables>();
    Executable executable(compile(graph, options), variables, *device);
    Feeds feeds;
    for (const FeedSpec& f : executable.program().feeds) feeds[f.name] = tensors.at("feed/" + f.name);
    for (const std::string& name : names) variables->set(name, tensors.at("parameter/" + name).clone());
    executable.run(feeds);
    found.push_back(executable.run(feeds));  // a second time: states of a stream continue, and buffers are reused
  }
  for (std::size_t k = 0; k < found[0].size(); ++k) {
    ASSERT_EQ(found[1][k].sizes(), found[0][k].sizes());
    for (std::int64_t i = 0; i < found[0][k].count(); ++i) {
      ASSERT_NEAR(found[1][k].at(i), found[0][k].at(i), 1e-9 * (1 + std::abs(found[0][k].at(i))))
          << graph.outputs[k].name << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Papers, CudaNetwork, ::testing::ValuesIn(fixtures().names()), [](const auto& i) { return i.param; });

}  // namespace
}  // namespace graphrun
