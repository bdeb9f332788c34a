// Shared by the benchmarks that compare with PyTorch: times, numbers, and the peer, a process that is idle between requests.
#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/execute/profiler.h"
#include "runtime/tensor/tensor.h"
#include "runtime/threads/threads.h"
#include "tests/bench/arguments.h"
#include "tests/folders.h"
#include "tools/bench/timing.h"
#include "tools/commands/command_line.h"

namespace graphrun {

// The options that the benchmarks share, those of them that the usage of one has.
struct PairOptions {
  explicit PairOptions(const BenchArguments& arguments)
      : pairs(static_cast<int>(arguments.number("--pairs", 7))),
        threads(static_cast<int>(arguments.number("--threads", graphrun::threads()))),
        products(arguments.value("--product-precision", "float32")),
        peer_name(arguments.value("--peer-name", "PyTorch")),
        peer(arguments.value("--peer", "/usr/bin/python3 " + tests::source_folder() + "/tests/bench/torch_peer.py")),
        profile(arguments.has("--profile")) {
    if (arguments.has("--device")) target.device = &parse_device(arguments.value("--device", ""));
    target.products = parse_product_precision(products);
  }
  int pairs, threads;
  Target target;  // of graphrun and the peer
  std::string products;
  std::string peer_name;  // the name in reports
  std::string peer;
  bool profile;  // also print the time of every node
};

// How many times each side runs before a run is timed on a GPU: the first run after another process's pays for the change,
// which may take longer than the run itself.
constexpr int kUntimed = 3;

// Communicates with tests/bench/torch_peer.py, or another program with the same protocol.
class Peer {
 public:
  explicit Peer(const PairOptions& options) {
    start(options.peer);
    if (to_ && !options.target.device->is_cpu() && !ready("device cuda")) end();
    if (to_ && !ready("products " + options.products)) end();
  }
  ~Peer() { end(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // The answer to one line; "" if there is no peer.
  std::string ask(const std::string& line) {
    if (!to_ || !from_) return "";
    fmt::print(to_, "{}\n", line);
    fflush(to_);
    char answer[4096];
    if (!fgets(answer, sizeof(answer), from_)) return "";
    return answer;
  }
  bool ready(const std::string& line) {
    if (to_ == nullptr) return false;
    said_ = ask(line);
    while (!said_.empty() && said_.back() == '\n') said_.pop_back();
    return said_.rfind("ready", 0) == 0;
  }
  // What the peer runs the last request with ("2.11.0", "persist-static-bfloat16"), or why it cannot.
  std::string said() const {
    if (said_.empty()) return "it is not there";
    const std::size_t space = said_.find(' ');
    return space == std::string::npos ? said_ : said_.substr(space + 1);
  }
  // The end of a line of results if a peer was requested but did not run; else empty.
  std::string missing(const std::string& name, bool ran) const {
    return ran || !wanted_ ? "" : "  " + name + " none: " + said();
  }
  // Milliseconds of one run, after `untimed` others.
  double time(int untimed = 0) {
    const std::string times = ask(fmt::format("time {}", untimed + 1));
    const std::size_t last = times.rfind(' ');
    return std::strtod(times.c_str() + (last == std::string::npos ? 0 : last + 1), nullptr);
  }

 private:
  void start(const std::string& command) {
    wanted_ = !command.empty() && command != "true";
    if (command.empty()) return;
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) return;
    signal(SIGPIPE, SIG_IGN);  // a peer that ends early counts as none
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], 0), dup2(out[1], 1);
      for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      // Some environments set variables that halve the speed of its products.
      unsetenv("OPENBLAS_CORETYPE"), unsetenv("OPENBLAS_L2_SIZE");
      setenv("GOMP_SPINCOUNT", "2000", 1);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]), close(out[1]);
    to_ = fdopen(in[1], "w"), from_ = fdopen(out[0], "r");
  }

  void end() {
    if (to_) fclose(to_);
    if (from_) fclose(from_);
    if (child_ > 0) waitpid(child_, nullptr, 0);
    to_ = from_ = nullptr, child_ = -1;
  }

  pid_t child_ = -1;
  bool wanted_ = false;
  std::string said_;
  FILE *to_ = nullptr, *from_ = nullptr;
};

}  // namespace graphrun
