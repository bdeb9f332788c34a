// For tests of loops that a device runs as one launch: random feeds, and how such loops are made.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "runtime/execute/binding.h"
#include "runtime/execute/executable.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/scan/launch.h"
#include "tests/cuda/device.h"

namespace graphrun {

inline Tensor random_tensor(const Sizes& sizes, Precision precision, std::mt19937& random) {
  Tensor t(concrete(Type::kFloat, precision), sizes);
  for (std::int64_t i = 0; i < t.count(); ++i) {
    const double x = static_cast<double>(random()) / 2147483648.0 - 1;
    precision == Precision::kFloat64 ? void(t.data<double>()[i] = x) : void(t.data<float>()[i] = static_cast<float>(x));
  }
  return t;
}

inline SymbolValues symbols_of(std::int64_t time, std::int64_t batch) {
  return {{Symbol::named("time"), time}, {Symbol::named("batch"), batch}};
}

inline Feeds random_feeds(const Program& program, const SymbolValues& symbols, Precision precision, unsigned seed) {
  std::mt19937 random(seed);
  Feeds feeds;
  for (const FeedSpec& f : program.feeds) feeds[f.name] = random_tensor(evaluate(f.shape, symbols), precision, random);
  return feeds;
}

inline void scale(Feeds& feeds, float by) {
  for (auto& [name, tensor] : feeds) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.data<float>()[i] *= by;
  }
}

// The loops of a program's root, bound to these sizes.
inline std::vector<LoopKernel::Traits> loops_of(const Program& program, const SymbolValues& symbols,
                                                Target target = tests::tested_device()) {
  PackedWeightsStore store(program);
  const auto binding = graphrun::bind(program, symbols, target, store);
  std::vector<LoopKernel::Traits> loops;
  for (const BoundInstruction& bound : binding->root.instructions) {
    if (bound.scan && bound.scan->plan.launch() != nullptr) loops.push_back(bound.scan->plan.launch()->traits());
  }
  return loops;
}

// On the emulated device, loops that can run by columns do. On a GPU, narrow ones run by rows.
class ByColumns {
 public:
  ByColumns() { let_rows(false); }
  ~ByColumns() { let_rows(true); }

 private:
  static void let_rows(bool let) {
    if (tests::tested_device(); tests::is_emulated()) tests::emulated_limits().row_loops = let;
  }
};

// The emulated device has clusters only if a test sets them; here clusters of 2 blocks, or of 4 for many columns. A GPU has its
// own, or none.
class WithClusters {
 public:
  WithClusters() {
    if (!tests::is_emulated()) return;
    tests::emulated_limits().clusters = {3, 2, 0, 0};
    tests::emulated_limits().shared = 64 << 10;
  }
  ~WithClusters() {
    if (tests::is_emulated()) tests::emulated_limits() = before_;
  }

  // Forward and backward, if the device has clusters.
  void expect_both_in_clusters(const Program& program, const SymbolValues& symbols, Target target) const {
    if (tests::tested_device().backend().limits().clusters[0] == 0) return;
    const std::vector<LoopKernel::Traits> loops = loops_of(program, symbols, target);
    ASSERT_EQ(loops.size(), 2u);
    for (const LoopKernel::Traits& loop : loops) EXPECT_TRUE(loop.in_clusters && loop.keeps_weights);
  }

 private:
  const DeviceLimits before_ = tests::tested_device().backend().limits();
};

}  // namespace graphrun
