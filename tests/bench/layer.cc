// A recurrent layer, forward and backward, by every parameter and the input: its time over that of its matrix products alone,
// and beside PyTorch's in the same run.
//
//   bench_layer [--pairs N] [--threads N] [--peer 'python3 …/torch_layer.py'] [CELL TIME BATCH WIDTH HIDDEN]
//
// Each round measures products, layer and peer once; what is printed are the medians over the rounds.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "compiler/compile.h"
#include "compiler/differentiate.h"
#include "ops/matmul/packed.h"
#include "ops/matmul/product.h"
#include "runtime/executable.h"
#include "runtime/kernel.h"
#include "runtime/profiler.h"
#include "runtime/threads.h"

namespace graphrun {
namespace {

const std::string kBench = std::string(GRAPHRUN_SOURCE_DIR) + "/tests/bench";

struct Case {
  std::string cell;
  std::int64_t time, batch, width, hidden;
};

double milliseconds(std::int64_t begin) { return static_cast<double>(Profiler::now() - begin) / 1e6; }

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x.empty() ? 0 : x[x.size() / 2];
}

Tensor random_tensor(const Sizes& sizes, double size) {
  static std::mt19937 random(1);
  Tensor t(DType::kFloat32, sizes);
  for (float& x : t.span<float>()) x = static_cast<float>(size * (static_cast<double>(random()) / 2147483648.0 - 1));
  return t;
}

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

// ---- the peer, a process of its own that waits while it is not asked

class Peer {
 public:
  explicit Peer(const std::string& command) {
    if (command.empty()) return;
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], 0), dup2(out[1], 1);
      for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      // Some environments set what halves its products.
      unsetenv("OPENBLAS_CORETYPE"), unsetenv("OPENBLAS_L2_SIZE");
      setenv("GOMP_SPINCOUNT", "2000", 1);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]), close(out[1]);
    to_ = fdopen(in[1], "w"), from_ = fdopen(out[0], "r");
  }
  ~Peer() {
    if (to_) fclose(to_);
    if (from_) fclose(from_);
    if (child_ > 0) waitpid(child_, nullptr, 0);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // One line's answer; "" where there is no peer.
  std::string ask(const std::string& line) {
    if (!to_ || !from_) return "";
    fmt::print(to_, "{}\n", line);
    fflush(to_);
    char answer[4096];
    if (!fgets(answer, sizeof(answer), from_)) return "";
    return answer;
  }

 private:
  pid_t child_ = -1;
  FILE *to_ = nullptr, *from_ = nullptr;
};

double peer_time(Peer& peer) {
  const std::string answer = peer.ask("time 1");
  return answer.empty() ? 0 : std::strtod(answer.c_str(), nullptr);
}

void measure(const Case& c, Peer& peer, int pairs) {
  Layer layer(c);
  const auto products = products_of(c);
  std::string peer_cell = c.cell;
  const std::string ready =
      peer.ask(fmt::format("case {} {} {} {} {} {}", peer_cell, c.time, c.batch, c.width, c.hidden, threads()));
  const bool has_peer = ready.rfind("ready", 0) == 0;
  std::vector<double> ours, floor, theirs, over, times;
  for (int round = -2; round < pairs; ++round) {
    const double mine = layer.run();
    const std::int64_t begin = Profiler::now();
    for (const auto& product : products) product->run();
    const double alone = milliseconds(begin), other = has_peer ? peer_time(peer) : 0;
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
  int pairs = 7, wanted_threads = threads();
  std::string peer_command = "/usr/bin/python3 " + kBench + "/torch_layer.py";
  std::vector<std::string> rest;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--pairs" && i + 1 < count) {
      pairs = std::atoi(words[++i]);
    } else if (word == "--threads" && i + 1 < count) {
      wanted_threads = std::atoi(words[++i]);
    } else if (word == "--peer" && i + 1 < count) {
      peer_command = words[++i];
    } else {
      rest.push_back(word);
    }
  }
  signal(SIGPIPE, SIG_IGN);
  set_threads(wanted_threads);
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
  Peer peer(peer_command);
  for (const Case& c : cases) measure(c, peer, pairs);
  return 0;
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) { return graphrun::run(count, words); }
