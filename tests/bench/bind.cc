// The time that a batch takes before it runs: kUsage says what is measured.
#include <algorithm>
#include <cstdio>

#include "compiler/compile.h"
#include "runtime/execute/binding.h"
#include "runtime/execute/executable.h"
#include "runtime/execute/feeds.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/threads/threads.h"
#include "tests/bench/peer.h"

namespace graphrun {
namespace {

constexpr const char* kUsage = R"(bench_bind [--pairs N] [--threads N] [NAME …]

The time that a batch takes before it runs: binding its sizes if they are new (which makes kernels and lays out memory), and if
they are cached. For the training steps of the shipped networks, and for their inference. NAME: a case, such as tagger_atr.
)";

struct Network {
  std::string name, graph;
  std::vector<std::pair<std::string, std::string>> args;
};

Program compiled(const Network& network, bool train) {
  GraphRequest request;
  request.path = network.graph;
  request.from_graphs = true;
  request.graphs_root = tests::source_folder() + "/graphs";
  for (const auto& [name, value] : network.args) request.bindings.push_back({name, value, {}});
  const ir::Graph graph = load_graph(request);
  if (!train) return compile(graph);
  TrainOptions options;
  options.minimize = "loss";
  options.optimizer = "adam";
  options.clip_global_norm = 5;
  return compile(graph, {}, &options);
}

// Feeds whose sizes follow from `seed`: every symbol has another size for another seed.
Feeds feeds_of(const Program& program, std::int64_t seed) {
  SymbolValues sizes;
  for (const FeedSpec& feed : program.feeds) {
    for (const Dim& dim : feed.shape) {
      for (Symbol s : dim.symbols()) sizes.emplace(s, 10 + seed + static_cast<std::int64_t>(sizes.size()));
    }
  }
  Feeds feeds;
  for (const FeedSpec& feed : program.feeds) feeds[feed.name] = Tensor(feed.dtype, evaluate(feed.shape, sizes));
  return feeds;
}

void measure(const Network& network, bool train, int rounds) {
  const Program program = compiled(network, train);
  PackedWeightsStore store(program);
  std::vector<double> fresh, again;
  double worst = 0;
  for (int round = 0; round < rounds; ++round) {
    const Feeds feeds = feeds_of(program, round);
    std::int64_t begin = Profiler::now();
    const SymbolValues symbols = bind_sizes(program, feeds);
    const std::unique_ptr<Binding> binding = graphrun::bind(program, symbols, cpu_device(), store);
    const Tensor arena(DType::kBool, {std::max<std::int64_t>(binding->layout.bytes, 1)});
    rebase(*binding, arena.raw());
    if (round > 0)
      fresh.push_back(milliseconds(begin)), worst = std::max(worst, fresh.back());  // the first round loads libraries
    begin = Profiler::now();
    bind_sizes(program, feeds);
    rebase(*binding, arena.raw());
    again.push_back(milliseconds(begin));
  }
  std::size_t instructions = 0;
  for (const Region& region : program.regions) instructions += region.instructions.size();
  fmt::print("{:<24} {:<9} {:>5} instructions  new {:7.3f} ms (worst {:7.3f})  seen {:7.1f} us\n", network.name,
             train ? "training" : "inference", instructions, median(fresh), worst, 1e3 * median(again));
  std::fflush(stdout);
}

std::vector<Network> networks() {
  std::vector<Network> out;
  for (const std::string cell : {"atr", "lstm", "gru"}) {
    const std::pair<std::string, std::string> which{"cell", "cells/" + cell + ".pbtxt"};
    out.push_back({"language_model_" + cell, "language_model.pbtxt", {{"vocabulary", "10000"}, which}});
    out.push_back({"tagger_" + cell, "tagger.pbtxt", {{"vocabulary", "3500"}, {"labels", "4"}, which}});
  }
  out.push_back({"transformer", "transformer.pbtxt", {{"source_vocabulary", "8000"}, {"target_vocabulary", "8000"}}});
  out.push_back({"translator", "translator.pbtxt", {{"source_vocabulary", "8000"}, {"target_vocabulary", "8000"}}});
  return out;
}

void run(const BenchArguments& arguments) {
  const PairOptions options(arguments);
  const std::vector<Network> all = networks();
  std::vector<std::string> names;
  for (const Network& network : all) names.push_back(network.name);
  const std::set<std::string> chosen = arguments.chosen(names);
  set_threads(options.threads);
  for (const Network& network : all) {
    if (chosen.count(network.name) == 0) continue;
    for (bool train : {true, false}) measure(network, train, std::max(options.pairs, 2));
  }
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) { return graphrun::bench_main("bench_bind", graphrun::kUsage, count, words, graphrun::run); }
