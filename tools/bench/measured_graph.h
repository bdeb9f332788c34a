// A compiled graph whose runs are timed, with its matrix products alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runtime/execute/executable.h"
#include "tools/bench/products.h"

namespace graphrun {

// Which part of a graph is measured.
struct MeasuredPart {
  bool forward = false;  // only the output `h`, without gradients; else the output `loss` and its gradients
  // Only the sum of each result is returned. All of it is then computed, and nothing large is copied to the host.
  bool sums = false;
  Target target = {};
  std::vector<std::string> disabled_passes;
};

class MeasuredGraph {
 public:
  // Compiles a graph with outputs `loss`, a scalar, and `h`. Gradients are those of every trainable parameter but `weight`, and
  // of an input `x`. Parameters are initialized from seed 1.
  MeasuredGraph(ir::Graph graph, const SymbolValues& sizes, const MeasuredPart& part);

  // The given feeds, and random numbers for each FLOAT input that is absent.
  void feed(Feeds feeds);
  double run();  // milliseconds
  // The time of every node in ten runs.
  std::string profile();

  const ProductsAlone& products() const { return products_; }
  const Program& program() const { return executable_->program(); }
  const std::vector<TapeDecision>& tape() const { return tape_; }

 private:
  SymbolValues sizes_;
  std::vector<TapeDecision> tape_;
  std::unique_ptr<Executable> executable_;
  ProductsAlone products_;
  Feeds feeds_;
  RunOptions options_;
};

}  // namespace graphrun
