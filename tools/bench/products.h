// The matrix products of a compiled network and nothing else, each with the fastest method on the device: the lower bound to
// which the time of a step is compared.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "ops/matmul/product.h"
#include "runtime/device/device.h"

namespace graphrun {

// A product that runs `times` times.
class ProductAlone {
 public:
  virtual ~ProductAlone() = default;
  virtual void run() const = 0;
};

class ProductsAlone {
 public:
  explicit ProductsAlone(Target target = {}) : target_(target) {}

  void add(const MatrixProduct& p, std::int64_t times);
  // Milliseconds for all of them, one after the other.
  double run() const;
  double operations() const { return operations_; }

 private:
  Target target_;
  double operations_ = 0;
  std::vector<std::unique_ptr<ProductAlone>> products_;
};

// Observes the compilation of a graph, up to the pass after which its products are those that must be computed: moved out of
// loops where possible, but not yet merged or packed.
class ProductsOfGraph {
 public:
  std::function<void(const std::string&, const ir::Graph&, double)> observer();
  ProductsAlone alone(const SymbolValues& symbols, Target target = {}) const;

 private:
  static void add(const ir::Graph& graph, const SymbolValues& symbols, std::int64_t times, ProductsAlone& out);

  ir::Graph graph_;
  bool done_ = false;
};

}  // namespace graphrun
