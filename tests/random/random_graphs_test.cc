// Graphs generated from seeds: all of them check, compile and compute the right values, whichever pass is disabled.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "tests/folders.h"
#include "tests/random/generator.h"
#include "tests/random/graph_files.h"
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
    const Findings found = random_graphs::hold(graph, seed, options);
    for (const std::string& failure : found.failures) ADD_FAILURE() << "seed " << seed << ": " << failure << "\n" << graph.text;
    for (const auto& [what, n] : found.tally) tally[what] += n;
  }
  // Rejected or ill-conditioned graphs test nothing.
  const auto most = static_cast<std::int64_t>(count * 3 / 4);
  for (const char* oracle : {"run", "each pass off", "gradient with each pass off", "text read back",
                             "the same graph of several files", "outputs beside more batch", "outputs beside more time"})
    EXPECT_GE(tally[oracle], most) << oracle;
  EXPECT_GE(tally["word by word"], static_cast<std::int64_t>(count / 8));
}

TEST(RandomGraphs, ComputeTheSameWhicheverPassIsLeftOut) { hold_all(1, 40, {}); }

// Every op occurs in a scan's body together with a state that is read before its step and one that is read after it, forward
// and in reverse, with rows of equal and unequal lengths.
TEST(RandomGraphs, HoldEveryOpInEveryKindOfScan) {
  random_graphs::Coverage coverage;
  // The rarest of them occurs once in some thousand graphs.
  for (std::uint64_t seed = 3501; seed <= 23500 && (seed % 500 != 1 || !coverage.missing().empty()); ++seed) {
    coverage.add(random_graphs::generate(seed).coverage);
  }
  EXPECT_EQ(coverage.missing(), std::set<std::string>());
  for (const char* what : {"bundle of states",
                           "bundle of states of the root",
                           "bundle of parameters",
                           "call with begin",
                           "scan of words",
                           "scans of words in layers",
                           "scan that begins where another ends",
                           "states of a scan that live on",
                           "shared parameters",
                           "graph of the file as an argument",
                           "shipped graph as an argument",
                           "imports of files",
                           "arg with a value",
                           "arg of the file",
                           "history",
                           "sizes by other names",
                           "repeat within a scan",
                           "repeat with next",
                           "scan within a call or repeat",
                           "stack with sizes",
                           "root state read before",
                           "root state read after",
                           "graph called again, perhaps for other sizes"})
    EXPECT_GE(coverage.times_seen(what), 20) << what;
}

// Minimized graphs that were once rejected or gave wrong numbers.
TEST(RandomGraphs, ThoseThatOnceFailedHold) {
  random_graphs::OracleOptions options;
  options.folder = testing::TempDir();
  int held = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_folder() + "/tests/random/graphs")) {
    const Findings found = random_graphs::hold(random_graphs::read_graph(entry.path().string()), 1, options);
    for (const std::string& failure : found.failures) ADD_FAILURE() << entry.path() << ": " << failure;
    for (const char* skipped : {"not finite or too large to compare", "gradient too large to compare"}) {
      EXPECT_EQ(found.tally.count(skipped), 0U) << entry.path() << ": " << skipped;
    }
    ++held;
  }
  EXPECT_GE(held, 9);
}

}  // namespace
}  // namespace graphrun
