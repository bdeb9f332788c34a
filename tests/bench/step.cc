// A whole training step of the shipped networks at the recipes' sizes: tokens per second, and the step's time over the time
// that its own matrix products take inside it ("over_products": 1 would be a step of nothing but products).
#include <benchmark/benchmark.h>

#include <random>

#include "compiler/compile.h"
#include "runtime/executable.h"
#include "runtime/profiler.h"
#include "runtime/threads.h"

namespace graphrun {
namespace {

using Args = std::vector<std::pair<std::string, std::string>>;

struct Step {
  std::string graph;
  Args args;
  TrainOptions::Optimizer optimizer;
  std::int64_t time, batch;
};

// Numbers that the graph accepts, from a fixed seed.
Feeds random_feeds(const Program& program, const Step& step) {
  std::mt19937 random(1);
  Feeds feeds;
  for (const FeedSpec& f : program.feeds) {
    Sizes sizes = evaluate(f.shape, {{Symbol::named("time"), step.time}, {Symbol::named("batch"), step.batch}});
    Tensor t(f.dtype, sizes);
    if (f.dtype == DType::kInt32) {
      const std::int64_t below = f.below ? f.below->constant() : 2;
      for (std::int32_t& x : t.span<std::int32_t>()) {
        x = static_cast<std::int32_t>(f.lengths_of ? step.time : static_cast<std::int64_t>(random()) % below);
      }
    } else {
      for (float& x : t.span<float>()) x = f.name == kUpdateCount ? 1.0f : 0.01f;
    }
    feeds[f.name] = t;
  }
  return feeds;
}

void training_step(benchmark::State& state, const Step& step) {
  set_threads(core_count());
  GraphRequest request;
  request.path = step.graph;
  request.from_graphs = true;
  request.graphs_root = GRAPHRUN_SOURCE_DIR "/graphs";
  for (const auto& [name, value] : step.args) request.bindings.push_back({name, value, {}});
  TrainOptions train;
  train.minimize = "loss";
  train.optimizer = step.optimizer;
  train.clip_global_norm = 5;
  Program program = compile(load_graph(request), {}, &train);
  auto variables = std::make_shared<Variables>();
  initialize(program, *variables, 1);
  Executable executable(std::move(program), variables);
  const Feeds feeds = random_feeds(executable.program(), step);
  RunOptions options;
  executable.run(feeds, options);
  for (auto _ : state) {
    ++options.step;
    executable.run(feeds, options);
  }
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(step.time * step.batch * state.iterations()), benchmark::Counter::kIsRate);

  Profiler profiler;
  options.profiler = &profiler;
  const std::int64_t begin = Profiler::now();
  for (int k = 0; k < 5; ++k) executable.run(feeds, options);
  const double whole = static_cast<double>(Profiler::now() - begin);
  double products = 0;
  for (const auto& total : profiler.totals_by_op()) {
    if (total.op.rfind("matmul", 0) == 0) products += static_cast<double>(total.nanoseconds);
  }
  state.counters["over_products"] = whole / products;
  state.counters["arena_MB"] = static_cast<double>(executable.arena_bytes()) / 1e6;
}

const auto kSgd = TrainOptions::Optimizer::kSgd;
const auto kAdam = TrainOptions::Optimizer::kAdam;

BENCHMARK_CAPTURE(training_step, ptb_2x650_atr, Step{"language_model.pbtxt", {{"vocabulary", "10000"}}, kSgd, 35, 20})
    ->UseRealTime();
BENCHMARK_CAPTURE(training_step, ptb_2x650_lstm,
                  Step{"language_model.pbtxt", {{"vocabulary", "10000"}, {"cell", "cells/lstm.pbtxt"}}, kSgd, 35, 20})
    ->UseRealTime();
BENCHMARK_CAPTURE(training_step, ptb_1x200_atr,
                  Step{"language_model.pbtxt",
                       {{"vocabulary", "10000"}, {"embed", "200"}, {"hidden", "200"}, {"depth", "1"}, {"dropout", "0"}},
                       kSgd,
                       20,
                       20})
    ->UseRealTime();
BENCHMARK_CAPTURE(training_step, segmenter_300, Step{"tagger.pbtxt", {{"vocabulary", "3500"}, {"labels", "4"}}, kAdam, 40, 128})
    ->UseRealTime();

}  // namespace
}  // namespace graphrun
