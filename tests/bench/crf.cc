// The CRF: kUsage says what is measured.
#include <cstdio>
#include <cstdlib>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "compiler/ir/builder.h"
#include "compiler/passes/pass.h"
#include "runtime/execute/executable.h"
#include "runtime/threads/threads.h"
#include "tests/bench/peer.h"

namespace graphrun {
namespace {

constexpr const char* kUsage =
    R"(bench_crf [--pairs N] [--threads N] [--device NAME] [--peer 'python3 …/torch_peer.py'] [--peer-name NAME]
          [--product-precision tf32|bfloat16] [--profile] [likelihood|viterbi TIME BATCH LABELS …]

The CRF of graphs/crf.pbtxt, compared with the usual loops in PyTorch in the same run: log-likelihood, forward and backward (with
gradients of emissions and transitions), and Viterbi. Both sides take turns. In each turn a side runs three times untimed and then
once timed: on a GPU, the first run after another process's pays for the change, which may take longer than a run of ours.
)";

struct Case {
  std::string what;  // likelihood, viterbi
  std::int64_t time, batch, labels;
};

class Crf {
 public:
  Crf(const Case& c, Target target) : variables_(std::make_shared<Variables>()) {
    GraphRequest request;
    request.path = "crf.pbtxt";
    request.from_graphs = true;
    request.graphs_root = tests::source_folder() + "/graphs";
    request.bindings = {{"labels", std::to_string(c.labels), {}}};
    ir::Graph graph = load_graph(request);
    if (c.what == "viterbi") {
      graph.outputs = {*graph.output("path")};
    } else {
      graph = run_early_passes(std::move(graph));
      add_gradient(graph);
    }
    executable_ = std::make_unique<Executable>(compile(graph), variables_, target);
    initialize(executable_->program(), *variables_, 1);
    for (const FeedSpec& f : executable_->program().feeds) feeds_[f.name] = feed(f, c);
  }

  // Milliseconds of one run, after `untimed` others.
  double time(int untimed) {
    for (int i = 0; i < untimed; ++i) executable_->run(feeds_);
    const std::int64_t begin = Profiler::now();
    executable_->run(feeds_);
    return milliseconds(begin);
  }
  // Profiles some runs.
  std::string profile() {
    Profiler profiler;
    RunOptions options;
    options.profiler = &profiler;
    for (int i = 0; i < 20; ++i) executable_->run(feeds_, options);
    return profiler.table();
  }

 private:
  static void add_gradient(ir::Graph& graph) {
    ir::Builder b(graph);
    const ir::ValueId loss = b.op("sum", {graph.output("nll")->value});
    const std::vector<ir::ValueId> by = {graph.inputs[0].value, graph.variables[0].value};
    const std::vector<ir::ValueId> gradients = differentiate(graph, loss, by);
    graph.outputs = {{"loss", loss}, {"d.emissions", gradients[0]}, {"d.T", gradients[1]}};
  }

  static Tensor feed(const FeedSpec& f, const Case& c) {
    const Sizes sizes = evaluate(f.shape, {{Symbol::named("time"), c.time}, {Symbol::named("batch"), c.batch}});
    if (f.dtype == DType::kFloat32) return random_tensor(sizes, 1);
    Tensor t(f.dtype, sizes);
    std::int64_t k = 0;
    for (std::int32_t& x : t.span<std::int32_t>()) {
      x = static_cast<std::int32_t>(f.lengths_of ? c.time : k++ * 7 % c.labels);
    }
    return t;
  }

  std::shared_ptr<Variables> variables_;
  std::unique_ptr<Executable> executable_;
  Feeds feeds_;
};

void measure(const Case& c, Peer& peer, const PairOptions& options) {
  Crf crf(c, options.target);
  const bool has_peer = peer.ready(fmt::format("crf {} {} {} {} {}", c.what, c.time, c.batch, c.labels, threads()));
  std::vector<double> ours, theirs, times;
  for (int round = -3; round < options.pairs; ++round) {
    const double mine = crf.time(kUntimed), other = has_peer ? peer.time(kUntimed) : 0;
    if (round < 0) continue;  // warm-up
    ours.push_back(mine), theirs.push_back(other), times.push_back(other / mine);
  }
  fmt::print("{:<10} T {} B {} labels {:<3}  {:7.3f} ms", c.what, c.time, c.batch, c.labels, median(ours));
  if (has_peer) fmt::print("  {} {:8.2f} ms, {:.1f} x, by {}", options.peer_name, median(theirs), median(times), peer.said());
  fmt::print("{}", peer.missing(options.peer_name, has_peer));
  fmt::print("\n");
  if (options.profile) fmt::print("{}\n", crf.profile());
  std::fflush(stdout);
}

void run(const BenchArguments& arguments) {
  const PairOptions options(arguments);
  std::vector<Case> cases;
  for (const auto& [what, sizes] : arguments.groups(4)) {
    if (what != "likelihood" && what != "viterbi")
      throw UsageError(fmt::format("there is no case '{}'; there are likelihood, viterbi", what));
    cases.push_back({what, sizes[0], sizes[1], sizes[2]});
  }
  if (cases.empty()) {
    for (const char* what : {"likelihood", "viterbi"}) {
      for (const std::int64_t labels : {9, 45}) cases.push_back({what, 25, 32, labels});
    }
  }
  Peer peer(options);
  set_threads(options.threads);
  for (const Case& c : cases) measure(c, peer, options);
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) { return graphrun::bench_main("bench_crf", graphrun::kUsage, count, words, graphrun::run); }
