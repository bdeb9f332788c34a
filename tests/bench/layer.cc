// A recurrent layer, forward and backward, by every parameter and the input: its time over that of its matrix products alone,
// and beside PyTorch's in the same run.
//
//   bench_layer [--pairs N] [--threads N] [--peer 'python3 …/torch_peer.py'] [CELL TIME BATCH WIDTH HIDDEN]
//
// Each round measures products, layer and peer once; what is printed are the medians over the rounds.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "ops/matmul/packed.h"
#include "ops/matmul/product.h"
#include "runtime/executable.h"
#include "runtime/kernel.h"
#include "runtime/profiler.h"
#include "runtime/threads.h"
#include "tests/bench/peer.h"

namespace graphrun {
namespace {

const std::string kBench = std::string(GRAPHRUN_SOURCE_DIR) + "/tests/bench";

struct Case {
  std::string cell;
  std::int64_t time, batch, width, hidden;
};

// ---- ours

class Layer {
 public:
  explicit Layer(const Case& c) : variables_(std::make_shared<Variables>()) {
    GraphRequest request;
    request.path = kBench + "/layer.pbtxt";
    request.graphs_root = std::string(GRAPHRUN_SOURCE_DIR) + "/graphs";
    request.bindings = {{"cell", "cells/" + c.cell + ".pbtxt", {}},
                        {"width", std::to_string(c.width), {}},
                        {"hidden", std::to_string(c.hidden), {}}};
    ir::Graph graph = load_graph(request);
    std::vector<ir::ValueId> by;
    for (const ir::Variable& v : graph.variables) by.push_back(v.value);
    by.push_back(graph.inputs[0].value);
    const std::vector<ir::ValueId> gradients = differentiate(graph, graph.output("loss")->value, by);
    for (std::size_t i = 0; i < by.size(); ++i) graph.outputs.push_back({"d." + graph.value(by[i]).name, gradients[i]});
    executable_ = std::make_unique<Executable>(compile(graph), variables_);
    initialize(executable_->program(), *variables_, 1);
    for (const FeedSpec& f : executable_->program().feeds) {
      feeds_[f.name] =
          random_tensor(evaluate(f.shape, {{Symbol::named("time"), c.time}, {Symbol::named("batch"), c.batch}}), 1);
    }
  }

  double run() {
    const std::int64_t begin = Profiler::now();
    executable_->run(feeds_);
    return milliseconds(begin);
  }

 private:
  std::shared_ptr<Variables> variables_;
  std::unique_ptr<Executable> executable_;
  Feeds feeds_;
};

// ---- its products, and nothing else

// A product with whatever is faster here: oneDNN on the whole, or packed panels for few rows (packing not counted).
class ProductAlone {
 public:
  ProductAlone(const Product& p, std::int64_t times)
      : p_(p),
        grid_(p),
        times_(times),
        packed_(p),
        a_(random_tensor({p.m * p.k}, 1)),
        b_(random_tensor({p.n * p.k}, 1)),
        c_(random_tensor({p.m * p.n}, 1)),
        panels_(random_tensor({p.n * p.k}, 1)) {
    if (times == 1 || !packed_.available()) return;
    packed_.pack(b_.data<float>(), panels_.data<float>(), 0, p.n);
    const double whole = best([&] { run_whole(); }), panels = best([&] { run_panels(); });
    by_panels_ = panels < whole;
  }
  void run() {
    if (by_panels_) return run_panels();
    for (std::int64_t i = 0; i < times_; ++i) run_whole();
  }

 private:
  template <class Fn>
  static double best(Fn&& fn) {
    double best = 1e30;
    for (int i = 0; i < 10; ++i) {
      const std::int64_t begin = Profiler::now();
      fn();
      best = std::min(best, milliseconds(begin));
    }
    return best;
  }
  void run_whole() {
    parallel_ranges(grid_.blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (; begin < end; ++begin) {
        multiply(p_, grid_.block(p_, begin), a_.data<float>(), b_.data<float>(), c_.data<float>());
      }
    });
  }
  void run_panels() {
    const std::int64_t panels = (p_.n + packed_.panel() - 1) / packed_.panel(), times = by_panels_ ? times_ : 1;
    parallel_ranges(panels, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < times; ++i) {
        packed_.multiply(a_.data<float>(), panels_.data<float>(), c_.data<float>(), begin * packed_.panel(),
                         std::min(p_.n, end * packed_.panel()));
      }
    });
  }

  Product p_;
  ProductGrid grid_;
  std::int64_t times_;
  PackedProduct packed_;
  Tensor a_, b_, c_, panels_;
  bool by_panels_ = false;
};

// A cell's matrices: `gates` from the input, `recurrent` from the state.
struct Matrices {
  std::int64_t gates, recurrent;
};
Matrices matrices_of(const std::string& cell) {
  if (cell == "lstm") return {4, 4};
  if (cell.rfind("gru", 0) == 0) return {3, 3};
  if (cell == "atr") return {1, 1};
  return {0, 0};
}

std::vector<std::unique_ptr<ProductAlone>> products_of(const Case& c) {
  const Matrices m = matrices_of(c.cell);
  std::vector<std::unique_ptr<ProductAlone>> out;
  const std::int64_t rows = c.time * c.batch;
  for (std::int64_t g = 0; g < m.gates; ++g) {
    out.push_back(std::make_unique<ProductAlone>(Product{rows, c.hidden, c.width, false, false}, 1));
    out.push_back(std::make_unique<ProductAlone>(Product{rows, c.width, c.hidden, false, true}, 1));
    out.push_back(std::make_unique<ProductAlone>(Product{c.width, c.hidden, rows, true, false}, 1));
  }
  for (std::int64_t g = 0; g < m.recurrent; ++g) {
    out.push_back(std::make_unique<ProductAlone>(Product{c.batch, c.hidden, c.hidden, false, false}, c.time));
    out.push_back(std::make_unique<ProductAlone>(Product{c.batch, c.hidden, c.hidden, false, true}, c.time));
    out.push_back(std::make_unique<ProductAlone>(Product{c.hidden, c.hidden, rows, true, false}, 1));
  }
  return out;
}

void measure(const Case& c, Peer& peer, int pairs) {
  Layer layer(c);
  const auto products = products_of(c);
  const bool has_peer =
      peer.ready(fmt::format("layer {} {} {} {} {} {}", c.cell, c.time, c.batch, c.width, c.hidden, threads()));
  std::vector<double> ours, floor, theirs, over, times;
  for (int round = -2; round < pairs; ++round) {
    const double mine = layer.run();
    const std::int64_t begin = Profiler::now();
    for (const auto& product : products) product->run();
    const double alone = milliseconds(begin), other = has_peer ? peer.time() : 0;
    if (round < 0) continue;  // the first are for caches
    ours.push_back(mine), floor.push_back(alone), theirs.push_back(other);
    over.push_back(mine / alone), times.push_back(other / mine);
  }
  fmt::print("{:<14} T {:<3} B {:<4} {:>4} -> {:<4}  layer {:8.2f} ms", c.cell, c.time, c.batch, c.width, c.hidden,
             median(ours));
  if (!products.empty()) fmt::print("  products {:8.2f} ms, over them {:.2f}", median(floor), median(over));
  if (has_peer) fmt::print("  PyTorch {:8.2f} ms, {:.2f} x", median(theirs), median(times));
  fmt::print("\n");
  std::fflush(stdout);
}

int run(int count, char** words) {
  const PairOptions options(count, words);
  const std::vector<std::string>& rest = options.rest;
  Peer peer(options.peer);
  set_threads(options.threads);
  std::vector<Case> cases;
  if (rest.size() == 5) {
    cases.push_back({rest[0], std::stoll(rest[1]), std::stoll(rest[2]), std::stoll(rest[3]), std::stoll(rest[4])});
  } else {
    for (const char* cell : {"atr", "gru", "lstm", "adaptive_gru"}) {
      cases.push_back({cell, 35, 20, 650, 650});
      cases.push_back({cell, 30, 80, 620, 1000});
    }
    for (const char* cell : {"atr", "lstm"}) cases.push_back({cell, 35, 4, 64, 64});
  }
  for (const Case& c : cases) measure(c, peer, options.pairs);
  return 0;
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) { return graphrun::run(count, words); }
