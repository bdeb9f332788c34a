// Graphs generated from seeds compute the same on the device as on the CPU, forward and backward.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/cuda/device.h"
#include "tests/random/generator.h"
#include "tests/random/oracles.h"

namespace graphrun {
namespace {

TEST(CudaRandomGraphs, ComputeWhatTheCpuComputes) {
  tests::tested_device();
  random_graphs::OracleOptions options;
  options.folder = testing::TempDir();
  options.passes = options.gradients = options.threads = options.text = options.beside = options.words = false;
  options.device = true;
  std::int64_t held = 0;
  for (std::uint64_t seed = 500; seed < 512; ++seed) {
    const random_graphs::Generated graph = random_graphs::generate(seed);
    random_graphs::Findings found = random_graphs::hold(graph, seed, options);
    held += found.tally["on a device"];
    for (const std::string& failure : found.failures) ADD_FAILURE() << "seed " << seed << ": " << failure << "\n" << graph.text;
  }
  EXPECT_GE(held, 9);
}

}  // namespace
}  // namespace graphrun
