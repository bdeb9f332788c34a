// One recurrent layer: kUsage says what is measured.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "runtime/threads/threads.h"
#include "tests/bench/peer.h"
#include "tools/bench/measured_graph.h"

namespace graphrun {
namespace {

constexpr const char* kUsage =
    R"(bench_layer [--pairs N] [--threads N] [--device NAME] [--peer 'python3 …/torch_peer.py'] [--peer-name NAME]
            [--product-precision tf32|bfloat16] [--profile] [--forward | --int8 | --ragged] [--disable-pass NAME]
            [CELL TIME BATCH WIDTH HIDDEN …]

A recurrent layer, forward and backward, with gradients of every parameter and the input: the ratio of its time to that of its
matrix products alone, compared with PyTorch in the same run. --forward: inference only. --int8: inference with weights rounded
to int8, in PyTorch too, over float32 products. --ragged: sequences of different lengths, from all steps down to half of them.

Each round measures products, layer and peer once; on a GPU, layer and peer first run three times untimed, as in bench_crf. The
medians over the rounds are printed.
)";

const std::string kBench = tests::source_folder() + "/tests/bench";

struct Case {
  std::string cell;
  std::int64_t time, batch, width, hidden;
};

struct LayerOptions {
  bool forward = false, int8 = false, ragged = false;  // int8: a forward that rounds weights
  Target target = {};
  std::vector<std::string> disabled_passes;
};

// ---- the layer in graphrun

// Longest first, as in the peers.
Tensor falling_lengths(const Case& c) {
  Tensor lengths(DType::kInt32, {c.batch});
  for (std::int64_t b = 0; b < c.batch; ++b) {
    lengths.span<std::int32_t>()[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(c.time - b * (c.time / 2) / c.batch);
  }
  return lengths;
}

MeasuredGraph layer_of(const Case& c, const LayerOptions& how) {
  GraphRequest request;
  const bool resident = !how.target.device->is_cpu() || how.ragged;
  request.path = kBench + (how.ragged ? "/ragged_layer.pbtxt" : resident ? "/resident_layer.pbtxt" : "/layer.pbtxt");
  request.graphs_root = tests::source_folder() + "/graphs";
  request.bindings = {{"cell", "cells/" + c.cell + ".pbtxt", {}},
                      {"width", std::to_string(c.width), {}},
                      {"hidden", std::to_string(c.hidden), {}}};
  if (resident) {
    request.bindings.push_back({"time", std::to_string(c.time), {}});
    request.bindings.push_back({"batch", std::to_string(c.batch), {}});
  }
  const SymbolValues sizes = {{Symbol::named("time"), c.time}, {Symbol::named("batch"), c.batch}};
  MeasuredGraph layer(load_graph(request), sizes, {how.forward, resident, how.target, how.disabled_passes});
  if (how.ragged) layer.feed({{"lengths", falling_lengths(c)}});
  return layer;
}

void measure(const Case& c, Peer& peer, const PairOptions& options, const LayerOptions& how) {
  MeasuredGraph layer = layer_of(c, how);
  const bool has_peer = peer.ready(fmt::format("{} {} {} {} {} {} {}",
                                               how.int8      ? "forward_int8"
                                               : how.forward ? "forward"
                                               : how.ragged  ? "ragged"
                                                             : "layer",
                                               c.cell, c.time, c.batch, c.width, c.hidden, threads()));
  std::vector<double> ours, floor, theirs, over, times;
  const int untimed = how.target.device->is_cpu() ? 0 : kUntimed;
  for (int round = -2; round < options.pairs; ++round) {
    for (int i = 0; i < untimed; ++i) layer.run();
    const double mine = layer.run();
    const double alone = layer.products().run(), other = has_peer ? peer.time(untimed) : 0;
    if (round < 0) continue;  // warm-up
    ours.push_back(mine), floor.push_back(alone), theirs.push_back(other);
    over.push_back(mine / alone), times.push_back(other / mine);
  }
  fmt::print("{:<14} T {:<3} B {:<4} {:>4} -> {:<4}  layer {:8.2f} ms", c.cell, c.time, c.batch, c.width, c.hidden,
             median(ours));
  fmt::print("  products {:8.2f} ms, over them {:.2f}, {:.1f} GFLOP/s", median(floor), median(over),
             layer.products().operations() / median(ours) / 1e6);
  if (has_peer) {
    fmt::print("  {} {:8.2f} ms, {:.2f} x, by {}", options.peer_name, median(theirs), median(times), peer.said());
  }
  fmt::print("{}", peer.missing(options.peer_name, has_peer));
  fmt::print("\n");
  if (options.profile) fmt::print("{}\n", layer.profile());
  std::fflush(stdout);
}

void run(const BenchArguments& arguments) {
  const PairOptions options(arguments);
  LayerOptions how;
  how.target = options.target;
  how.int8 = arguments.has("--int8");
  how.forward = how.int8 || arguments.has("--forward");
  how.ragged = arguments.has("--ragged");
  if (how.int8) how.target.weights = WeightForm::kInt8;
  how.disabled_passes = arguments.all("--disable-pass");
  std::vector<Case> cases;
  for (const auto& [cell, sizes] : arguments.groups(5)) cases.push_back({cell, sizes[0], sizes[1], sizes[2], sizes[3]});
  Peer peer(options);
  set_threads(options.threads);
  if (!cases.empty()) {
    // Only the named cases.
  } else if (how.forward) {
    for (const char* cell : {"atr", "lstm", "gru"}) {
      cases.push_back({cell, 35, 1, 650, 650});
      if (how.int8) cases.push_back({cell, 35, 64, 650, 650});
    }
  } else {
    for (const char* cell : {"atr", "gru", "lstm", "adaptive_gru"}) {
      cases.push_back({cell, 35, 20, 650, 650});
      cases.push_back({cell, 30, 80, 620, 1000});
    }
    for (const char* cell : {"atr", "lstm"}) cases.push_back({cell, 35, 4, 64, 64});
  }
  for (const Case& c : cases) measure(c, peer, options, how);
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) { return graphrun::bench_main("bench_layer", graphrun::kUsage, count, words, graphrun::run); }
