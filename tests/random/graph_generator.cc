// Generates valid graphs from seeds and checks the oracles for each; prints failing seeds with their graphs, and at the end the
// coverage.
//
//   graph_generator [--first N] [--count N] [--seconds S] [--oracles all|run|check|none|device] [--print] [--folder DIR]
//   [--graph FILE]
//
// "none" only generates the graphs, to see what they cover. The oracle `device` needs CUDA: on a machine without a GPU, set
// $GRAPHRUN_CUDA_LIBRARY to libgraphrun_cuda_emulated.so in the build folder. With --graph, the oracles are checked for the
// graph in that file instead, with inputs drawn from the seed --first.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include <unistd.h>

#include "tests/random/generator.h"
#include "tests/random/graph_files.h"
#include "tests/random/oracles.h"

namespace {

namespace fs = std::filesystem;
using graphrun::random_graphs::Coverage;
using graphrun::random_graphs::Findings;
using graphrun::random_graphs::Generated;

constexpr std::int64_t kReported = 1000;  // the number of graphs between lines on stderr

struct Settings {
  std::uint64_t first = 1, count = 100;
  double seconds = 0;  // 0: no limit
  std::string oracles = "all";
  bool print = false;
  fs::path folder;
  fs::path graph;  // a user's graph, used instead of generated ones
};

bool read(int argc, char** argv, Settings& settings) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--print") {
      settings.print = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    if (name == "--first") {
      settings.first = std::stoull(value);
    } else if (name == "--count") {
      settings.count = std::stoull(value);
    } else if (name == "--seconds") {
      settings.seconds = std::stod(value);
      settings.count = UINT64_MAX;
    } else if (name == "--oracles") {
      settings.oracles = value;
    } else if (name == "--folder") {
      settings.folder = value;
    } else if (name == "--graph") {
      settings.graph = value, settings.count = 1;
    } else {
      return false;
    }
  }
  return settings.oracles == "all" || settings.oracles == "run" || settings.oracles == "check" || settings.oracles == "none" ||
         settings.oracles == "device";
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!read(argc, argv, settings)) {
    std::cerr
        << "usage: graph_generator [--first N] [--count N] [--seconds S] [--oracles all|run|check|none|device] [--print]\n"
           "                       [--folder DIR] [--graph FILE]\n";
    return 2;
  }
  const fs::path folder =
      settings.folder.empty() ? fs::temp_directory_path() / fmt::format("graph_generator_{}", getpid()) : settings.folder;
  fs::create_directories(folder);
  graphrun::random_graphs::OracleOptions options;
  options.folder = folder.string();
  if (settings.oracles == "run") options.gradients = options.passes = options.threads = false;
  if (settings.oracles == "device") options.gradients = options.passes = options.threads = false, options.device = true;
  if (settings.oracles == "check") options.numbers = options.text = false;

  Coverage coverage;
  std::map<std::string, std::int64_t> tally;
  std::uint64_t failed = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  for (std::uint64_t k = 0; k < settings.count && (settings.seconds == 0 || elapsed() < settings.seconds); ++k) {
    const std::uint64_t seed = settings.first + k;
    const Generated graph = settings.graph.empty() ? graphrun::random_graphs::generate(seed)
                                                   : graphrun::random_graphs::read_graph(settings.graph.string());
    if (settings.print) std::cout << "# seed " << seed << "\n" << graph.text << std::endl;
    const Findings found = settings.oracles == "none" ? Findings() : graphrun::random_graphs::hold(graph, seed, options);
    coverage.add(graph.coverage);
    for (const auto& [what, n] : found.tally) tally[what] += n;
    if (++tally["graphs"] % kReported == 0)
      std::cerr << fmt::format("{} of {} graphs failed, the last of seed {}, in {:.1f} s\n", failed, tally["graphs"], seed,
                               elapsed());
    if (found.failures.empty()) continue;
    ++failed;
    for (const std::string& failure : found.failures) std::cout << "seed " << seed << ": " << failure << "\n";
    std::cout << graph.text << std::endl;
  }
  if (settings.folder.empty()) fs::remove_all(folder);
  std::cout << coverage.table();
  for (const auto& [what, n] : tally) std::cout << fmt::format("{:<48}{:>9}\n", what, n);
  std::cout << fmt::format("{} of {} graphs failed in {:.1f} s\n", failed, tally["graphs"], elapsed());
  return failed == 0 ? 0 : 1;
}
