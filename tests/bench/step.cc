// Whole training steps of the shipped networks: kUsage says what is measured.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compiler/compile.h"
#include "compiler/ir/builder.h"
#include "runtime/execute/executable.h"
#include "runtime/threads/threads.h"
#include "tests/bench/peer.h"
#include "tests/bench/table4.h"
#include "tools/bench/products.h"

namespace graphrun {
namespace {

constexpr const char* kUsage =
    R"(bench_step [--pairs N] [--threads N] [--device NAME] [--peer 'python3 …/torch_peer.py'] [--peer-name NAME]
           [--product-precision tf32|bfloat16] [--profile] [NAME …]

A whole training step of the shipped networks at the recipes' sizes: the ratio of its time to that of its matrix products
alone, and the memory of a run beyond parameters, gradients and optimizer state; compared with the same network in PyTorch in
the same run. NAME: a case, such as ptb_2x650_atr, or several, such as ptb.

table4: the networks of Table 4 of Zhang et al. (2018), beside the paper's figures: how many parameters, and how many times as
many words per second as GRU, whose steps run in alternation. They have no peer and are not compared with their products.
)";

using Args = std::vector<std::pair<std::string, std::string>>;

struct Step {
  std::string name, graph;
  Args args;
  std::string optimizer;
  std::int64_t time, batch;
  std::string peer = {};  // the name of the network in PyTorch; empty: it has none
};

class TrainingStep {
 public:
  TrainingStep(const Step& step, Target target) : variables_(std::make_shared<Variables>()) {
    GraphRequest request;
    request.path = step.graph;
    request.from_graphs = true;
    request.graphs_root = tests::source_folder() + "/graphs";
    for (const auto& [name, value] : step.args) request.bindings.push_back({name, value, {}});
    ir::Graph graph = load_graph(request);
    TrainOptions train;
    train.minimize = "bench.loss";
    train.optimizer = step.optimizer;
    train.clip_global_norm = 5;
    // Minimizes the same objective as the peer: for a tagger, the likelihood, whatever its job says.
    ir::Builder b(graph);
    const ir::ValueId nll = graph.output("nll")->value;
    graph.outputs = {{train.minimize, b.op("sum", {nll})}};
    CompileOptions options;
    options.observe = of_graph_.observer();
    Program program = compile(graph, options, &train);
    for (const ir::Variable& v : graph.variables) {
      if (v.trainable && v.kind == ir::Variable::Kind::kParameter)
        parameters_ += element_count(evaluate(graph.type(v.value).shape, {}));
    }
    initialize(program, *variables_, 1);
    executable_ = std::make_unique<Executable>(std::move(program), variables_, target);
    symbols_ = {{Symbol::named("time"), step.time},
                {Symbol::named("source_time"), step.time},
                {Symbol::named("target_time"), step.time},
                {Symbol::named("batch"), step.batch}};
    for (const FeedSpec& f : executable_->program().feeds) feeds_[f.name] = feed(f, symbols_, step.time);
  }

  double run() {
    ++options_.step;
    const std::int64_t begin = Profiler::now();
    executable_->run(feeds_, options_);
    return milliseconds(begin);
  }
  // Profiles a few runs.
  std::string profile() {
    Profiler profiler;
    options_.profiler = &profiler;
    for (int i = 0; i < 5; ++i) run();
    options_.profiler = nullptr;
    return profiler.table();
  }
  ProductsAlone products(Target target) const { return of_graph_.alone(symbols_, target); }
  double mebibytes() const { return static_cast<double>(executable_->arena_bytes() - 4 * parameters_) / 1048576; }
  double millions() const { return static_cast<double>(parameters_) / 1e6; }

 private:
  // Random numbers in the range that the graph accepts, from a fixed seed.
  static Tensor feed(const FeedSpec& f, const SymbolValues& symbols, std::int64_t time) {
    static std::mt19937 random(1);
    Tensor t(f.dtype, evaluate(f.shape, symbols));
    if (f.dtype == DType::kInt32) {
      const std::int64_t below = f.below ? f.below->constant() : 2;
      for (std::int32_t& x : t.span<std::int32_t>()) {
        x = static_cast<std::int32_t>(f.lengths_of ? time : static_cast<std::int64_t>(random()) % below);
      }
    } else {
      for (float& x : t.span<float>()) x = f.name == kUpdateCount ? 1.0f : 1e-3f;
    }
    return t;
  }

  std::shared_ptr<Variables> variables_;
  std::unique_ptr<Executable> executable_;
  ProductsOfGraph of_graph_;
  SymbolValues symbols_;
  Feeds feeds_;
  RunOptions options_;
  std::int64_t parameters_ = 0;  // that are trained
};

void measure(const Step& c, Peer& peer, const PairOptions& options) {
  TrainingStep step(c, options.target);
  const ProductsAlone products = step.products(options.target);
  const bool has_peer = !c.peer.empty() && peer.ready(fmt::format("{} {}", c.peer, threads()));
  std::vector<double> ours, floor, theirs, over, times;
  for (int round = -2; round < options.pairs; ++round) {
    const double mine = step.run(), alone = products.run(), other = has_peer ? peer.time() : 0;
    if (round < 0) continue;  // warm-up
    ours.push_back(mine), floor.push_back(alone), theirs.push_back(other);
    over.push_back(mine / alone), times.push_back(other / mine);
  }
  fmt::print("{:<18} {:8.2f} ms, {:7.0f} tokens/s  products {:8.2f} ms, over them {:.2f}  {:.1f} MiB", c.name, median(ours),
             static_cast<double>(c.time * c.batch) / median(ours) * 1e3, median(floor), median(over), step.mebibytes());
  if (has_peer) {
    const double memory = std::strtod(peer.ask("memory").c_str(), nullptr);
    fmt::print("  {} {:8.2f} ms, {:.2f} x, {:.1f} MiB, by {}", options.peer_name, median(theirs), median(times), memory,
               peer.said());
  }
  fmt::print("{}", peer.missing(options.peer_name, has_peer || c.peer.empty()));
  fmt::print("\n");
  if (options.profile) fmt::print("{}\n", step.profile());
  std::fflush(stdout);
}

Step step_of(const Table4Network& n) { return {"table4_" + n.name, n.graph, n.settings, "adam", 25, n.batch}; }

// A network of Table 4. `gru`: the first of them, which runs in alternation with the others.
void measure(const Table4Network& n, TrainingStep& gru, const PairOptions& options) {
  const Step c = step_of(n);
  const bool is_gru = &n == &table4_gru();
  const auto other = is_gru ? nullptr : std::make_unique<TrainingStep>(c, options.target);
  TrainingStep& step = is_gru ? gru : *other;
  const auto per_second = [&](double time, std::int64_t batch) { return static_cast<double>(c.time * batch) / time * 1e3; };
  std::vector<double> ours, times;
  for (int round = -2; round < options.pairs; ++round) {
    const double mine = step.run(), first = is_gru ? mine : gru.run();
    if (round < 0) continue;  // warm-up
    ours.push_back(mine), times.push_back(per_second(mine, n.batch) / per_second(first, table4_gru().batch));
  }
  fmt::print("{:<18} {:8.2f} ms, {:7.0f} tokens/s  {:.1f} MiB  {:.1f} M parameters, paper {:.1f}", c.name, median(ours),
             per_second(median(ours), n.batch), step.mebibytes(), step.millions(), n.millions);
  if (!is_gru) fmt::print("  {:.2f} x GRU, paper {:.2f}", median(times), n.training / table4_gru().training);
  fmt::print("\n");
  if (options.profile) fmt::print("{}\n", step.profile());
  std::fflush(stdout);
}

std::vector<Step> all_steps() {
  const std::string sgd = "sgd", adam = "adam";
  std::vector<Step> out;
  for (const std::string cell : {"atr", "lstm", "gru"}) {
    out.push_back({"ptb_2x650_" + cell,
                   "language_model.pbtxt",
                   {{"vocabulary", "10000"}, {"cell", "cells/" + cell + ".pbtxt"}},
                   sgd,
                   35,
                   20,
                   "language_model " + cell + " 35 20 10000 650 2 50"});
    out.push_back({"ptb_1x200_" + cell,
                   "language_model.pbtxt",
                   {{"vocabulary", "10000"},
                    {"cell", "cells/" + cell + ".pbtxt"},
                    {"embed", "200"},
                    {"hidden", "200"},
                    {"depth", "1"},
                    {"dropout", "0"}},
                   sgd,
                   20,
                   20,
                   "language_model " + cell + " 20 20 10000 200 1 0"});
    out.push_back({"tagger_300_" + cell,
                   "tagger.pbtxt",
                   {{"vocabulary", "3500"}, {"labels", "4"}, {"cell", "cells/" + cell + ".pbtxt"}},
                   adam,
                   40,
                   128,
                   cell == "atr" ? "" : "tagger " + cell + " 40 128 3500 4 300"});
  }
  for (const std::string cell : {"atr", "gru"}) {
    const auto translator = [&](const std::string& name, const std::string& words, const std::string& embed,
                                const std::string& hidden, std::int64_t time, std::int64_t batch) {
      out.push_back({name + "_" + cell,
                     "translator.pbtxt",
                     {{"source_vocabulary", words},
                      {"target_vocabulary", words},
                      {"cell", "cells/" + cell + ".pbtxt"},
                      {"embed", embed},
                      {"hidden", hidden}},
                     adam,
                     time,
                     batch,
                     fmt::format("translator {} {} {} {} {} {}", cell, time, batch, words, embed, hidden)});
    };
    translator("translate_128", "4000", "128", "256", 12, 64);
    translator("translate_620", "10000", "620", "1000", 20, 80);
    translator("translate_40k", "40000", "620", "1000", 25, 80);
  }
  // Wang et al. 2018, Table 4.
  for (const std::string hidden : {"512", "1024"}) {
    for (const std::string depth : {"2", "4"}) {
      out.push_back({"cyton_" + hidden + "_" + depth,
                     "cyton.pbtxt",
                     {{"vocabulary", "37000"}, {"embed", hidden}, {"hidden", hidden}, {"depth", depth}},
                     adam,
                     25,
                     64,
                     "cyton lstm 25 64 37000 " + hidden + " " + depth});
    }
  }
  return out;
}

void run(const BenchArguments& arguments) {
  const PairOptions options(arguments);
  const std::vector<Step> steps = all_steps();
  std::vector<std::string> names;
  for (const Step& step : steps) names.push_back(step.name);
  for (const Table4Network& n : table4()) names.push_back(step_of(n).name);
  const std::set<std::string> chosen = arguments.chosen(names);
  Peer peer(options);
  set_threads(options.threads);
  for (const Step& step : steps) {
    if (chosen.count(step.name) != 0) measure(step, peer, options);
  }
  std::unique_ptr<TrainingStep> gru;
  for (const Table4Network& n : table4()) {
    if (chosen.count(step_of(n).name) == 0) continue;
    if (!gru) gru = std::make_unique<TrainingStep>(step_of(table4_gru()), options.target);
    measure(n, *gru, options);
  }
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) { return graphrun::bench_main("bench_step", graphrun::kUsage, count, words, graphrun::run); }
