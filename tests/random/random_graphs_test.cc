// Graphs made up from seeds: all of them check, compile and compute what they mean, whichever pass is left out.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "runtime/file.h"
#include "tests/folders.h"
#include "tests/random/generator.h"
#include "tests/random/oracles.h"

namespace graphrun {
namespace {

using random_graphs::Findings;
using random_graphs::Generated;

void hold_all(std::uint64_t first, std::uint64_t count, random_graphs::OracleOptions options) {
  options.folder = testing::TempDir();
  std::map<std::string, std::int64_t> tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Generated graph = random_graphs::generate(seed);
    const Findings found = random_graphs::hold(graph.text, seed, options);
    for (const std::string& failure : found.failures) ADD_FAILURE() << "seed " << seed << ": " << failure << "\n" << graph.text;
    for (const auto& [what, n] : found.tally) tally[what] += n;
  }
  // Refused or ill-behaved ones tell nothing.
  const auto most = static_cast<std::int64_t>(count * 3 / 4);
  for (const char* oracle : {"run", "each pass off", "gradient with each pass off", "text read back"})
    EXPECT_GE(tally[oracle], most) << oracle;
}

TEST(RandomGraphs, ComputeTheSameWhicheverPassIsLeftOut) { hold_all(1, 80, {}); }

// Graphs that once were refused or gave other numbers, each reduced to what it takes.
TEST(RandomGraphs, ThoseThatOnceFailedHold) {
  random_graphs::OracleOptions options;
  options.folder = testing::TempDir();
  int held = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_folder() + "/tests/random/graphs")) {
    const Findings found = random_graphs::hold(read_file(entry.path().string(), 1 << 20), 1, options);
    for (const std::string& failure : found.failures) ADD_FAILURE() << entry.path() << ": " << failure;
    ++held;
  }
  EXPECT_GE(held, 4);
}

}  // namespace
}  // namespace graphrun
