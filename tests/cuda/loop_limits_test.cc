// The launch parameters of loops on devices of every compute capability from 7.5 to 12.0: plain arithmetic that needs no
// device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/compile.h"
#include "ops/recurrent/loop_device.h"
#include "ops/recurrent/loop_text.h"
#include "runtime/cuda/emulation.h"
#include "runtime/execute/binding.h"
#include "runtime/execute/packed_weights.h"
#include "tests/compiler/network_fixture.h"
#include "tests/cuda/device.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

struct Device75To120 {
  const char* name;
  DeviceLimits limits;
};
// Multiprocessors, the most shared memory that a block can request, and how many clusters of 2, 4, 8 and 16 are resident at
// once: fewer than the multiprocessors would allow, since only neighboring ones can form a cluster.
constexpr std::size_t kKiB = 1024;
const std::vector<Device75To120> kDevices = {{"7.5, T4", {40, 256, 64 * kKiB, false, {}}},
                                             {"8.0, A100", {108, 256, 163 * kKiB, true, {}}},
                                             {"8.6, RTX 3090", {82, 256, 99 * kKiB, true, {}}},
                                             {"8.9, RTX 4090", {128, 256, 99 * kKiB, true, {}}},
                                             {"9.0, H200", {132, 256, 227 * kKiB, true, {66, 32, 16, 7}}},
                                             {"10.0, B200", {148, 256, 227 * kKiB, true, {74, 36, 18, 8}}},
                                             {"12.0, RTX 5090", {170, 256, 99 * kKiB, true, {85, 42, 20, 0}}},
                                             {"none there is", {1, 256, 48 * kKiB, false, {}}}};

constexpr std::int64_t kWidestThreadRegisters = 255, kRegisters = 65536;

// A layer, forward and backward, bound to a shape; visits its loops.
class BoundLayer {
 public:
  BoundLayer(const std::string& cell, std::int64_t batch, std::int64_t hidden,
             ProductPrecision products = ProductPrecision::kFloat32) {
    tests::tested_device();
    GraphRequest request;
    request.path = tests::source_folder() + "/tests/bench/layer.pbtxt";
    request.graphs_root = tests::source_folder() + "/graphs";
    request.bindings = {{"cell", "cells/" + cell + ".pbtxt", {}},
                        {"width", std::to_string(hidden), {}},
                        {"hidden", std::to_string(hidden), {}}};
    program_ = compile(tests::with_gradients(load_graph(request)).graph, {});
    store_ = std::make_unique<PackedWeightsStore>(program_);
    binding_ = bind(program_, {{Symbol::named("time"), 30}, {Symbol::named("batch"), batch}},
                    Target(tests::tested_device(), WeightForm::kFloat32, products), *store_);
  }

  // In the order of the program: the forward loop first.
  std::vector<LoopPlan> loops(const DeviceLimits& limits) const {
    std::vector<LoopPlan> all;
    for (const BoundInstruction& bound : binding_->root.instructions) {
      if (bound.scan) all.push_back(plan_loop(*bound.scan, binding_->layout, limits));
    }
    return all;
  }

 private:
  Program program_;
  std::unique_ptr<PackedWeightsStore> store_;
  std::unique_ptr<Binding> binding_;
};

// The most columns of a result that a block has.
std::int64_t widest_share(const LoopPlan& plan, const LoopPlan::LoopMember& m) {
  const std::int64_t sharing = plan.cluster() > 1 ? plan.cluster() : plan.blocks() / plan.grid_row_parts();
  const std::int64_t together = plan.together, pieces = (m.columns + together - 1) / together;
  return (pieces + sharing - 1) / sharing * together;
}

// The most elements of a product's weights that a block has.
std::int64_t widest_weights(const LoopPlan& plan, const LoopPlan::LoopMember& m) {
  std::int64_t inner = 0;
  for (const MatrixProduct& p : m.product->group.products) inner += p.k;
  return inner * widest_share(plan, m);
}

// The most rows that a block has.
std::int64_t most_rows(const LoopPlan& plan, std::int64_t rows) {
  const std::int64_t parts = plan.cluster() == 1 ? plan.grid_row_parts() : plan.blocks() / plan.cluster();
  return (rows + parts - 1) / parts;
}

// Passed values follow the weights, which end at `end`: two copies of each, of `tile` rows, in words of `in_word` elements.
std::int64_t expect_room_for_passed(const LoopPlan& plan, std::int64_t end, std::int64_t batch, std::int64_t tile,
                                    std::int64_t deep, std::int64_t size) {
  for (const LoopPlan::Passed& p : plan.passed) {
    EXPECT_GE(static_cast<std::int64_t>(p.at), end);
    EXPECT_EQ(p.at % 16, 0u);
    EXPECT_GE(static_cast<std::int64_t>(p.bytes),
              (most_rows(plan, batch) + tile - 1) / tile * tile * ((p.inner + deep - 1) / deep * deep) * size);
    end = static_cast<std::int64_t>(p.at + 2 * p.bytes);
  }
  return end;
}

class LoopLimits : public ::testing::TestWithParam<std::string> {};

TEST_P(LoopLimits, AreKeptWithoutMatrixUnits) {
  std::set<std::string> forward, backward, in_clusters;
  for (const auto& [batch, hidden] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 64}, {20, 650}, {64, 1024}, {80, 1000}, {256, 2048}, {3, 7}}) {
    const BoundLayer layer(GetParam(), batch, hidden);
    for (const auto& [name, limits] : kDevices) {
      DeviceLimits without_units = limits;
      without_units.matrix_units = false;
      const std::vector<LoopPlan> loops = layer.loops(without_units);
      ASSERT_EQ(loops.size(), 2u);
      for (const LoopPlan& plan : loops) {
        if (plan.has_constant_sizes()) continue;
        (plan.cluster() > 1 ? in_clusters : &plan == &loops[0] ? forward : backward).insert(loop_text(plan).text);
      }
      for (const LoopPlan& plan : loops) {
        ASSERT_TRUE(plan.fits()) << name << ", batch " << batch << ", hidden " << hidden;
        EXPECT_LE(plan.shared(), limits.shared);
        // All blocks are resident at once: one per multiprocessor, however many registers the compiler uses.
        EXPECT_LE(plan.blocks(), limits.multiprocessors);
        EXPECT_LE(plan.threads * kWidestThreadRegisters, kRegisters);
        EXPECT_EQ(plan.threads % 32, 0);
        std::int64_t end = 0;
        for (const LoopPlan::LoopMember& m : plan.members) {
          if (m.resident < 0) continue;
          EXPECT_GE(m.resident, end) << "weights of two products in one place";
          EXPECT_EQ(m.resident % 16, 0);
          end = m.resident + widest_weights(plan, m) * static_cast<std::int64_t>(size_of(m.product->dtype));
        }
        end = expect_room_for_passed(plan, end, batch, loop::kTileRows, 1, sizeof(float));
        EXPECT_GE(static_cast<std::int64_t>(plan.piece_at), end);
      }
    }
  }
  // Sizes and the device are parameters of a small loop's launch; whether batches are merged into one axis or rows repeated is
  // in the text.
  EXPECT_LE(forward.size(), 2u);
  EXPECT_LE(backward.size(), 2u);
  EXPECT_LE(in_clusters.size(), 4u);
}

// A tile of rounded weights has 8 columns of 16 numbers, a tile of rows has 16.
TEST_P(LoopLimits, AreKeptOnMatrixUnits) {
  for (const auto& [batch, hidden] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 64}, {20, 650}, {64, 1024}, {80, 1000}, {256, 2048}, {3, 7}}) {
    const BoundLayer layer(GetParam(), batch, hidden, ProductPrecision::kBFloat16);
    for (const auto& [name, limits] : kDevices) {
      for (const LoopPlan& plan : layer.loops(limits)) {
        ASSERT_TRUE(plan.fits()) << name << ", batch " << batch << ", hidden " << hidden;
        EXPECT_LE(plan.shared(), limits.shared);
        EXPECT_EQ(plan.deep, 0) << "all left factors are the loop's own, and passed in order";
        EXPECT_EQ(plan.sums > 0, limits.matrix_units);
        EXPECT_EQ(plan.passed.empty(), !limits.matrix_units) << name;
        std::int64_t end = 0;
        for (const LoopPlan::LoopMember& m : plan.members) {
          if (m.product == nullptr) continue;
          EXPECT_EQ(m.form != nullptr, limits.matrix_units) << name;
          if (m.form == nullptr || m.resident < 0) continue;
          EXPECT_GE(m.resident, end) << "weights of two products in one place";
          EXPECT_EQ(m.resident % 16, 0);
          const std::int64_t own = widest_share(plan, m);
          std::int64_t deep = 0;
          for (std::size_t t = 0; t < m.product->group.terms(); ++t) deep += (m.product->group.products[t].k + 15) / 16;
          end = m.resident + (static_cast<std::int64_t>(m.product->group.groups()) * own + 7) / 8 * deep * 16 * 8 * 2;
        }
        if (limits.matrix_units) {
          if (plan.cluster() > 1) {
            end = expect_room_for_passed(plan, end, batch, 16, 16, 2);
            EXPECT_EQ(plan.workspace(), LoopKernel::kWorkspace);
          } else {  // for each part of the rows, in the device's memory
            const std::int64_t passed = expect_room_for_passed(plan, 0, batch, 16, 16, 2);
            EXPECT_GE(static_cast<std::int64_t>(plan.passed_bytes), passed);
            EXPECT_EQ(plan.workspace(),
                      LoopKernel::kWorkspace + static_cast<std::size_t>(plan.grid_row_parts()) * plan.passed_bytes);
          }
          EXPECT_GE(static_cast<std::int64_t>(plan.piece_at), end);
          EXPECT_GE(plan.shared() - plan.piece_at, static_cast<std::size_t>(plan.sums * plan.threads * 16));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, LoopLimits, ::testing::Values("atr", "gru", "lstm", "adaptive_gru"),
                         [](const auto& info) { return info.param; });

// 1024 x 1024 floats are 4 MiB: 32 KiB for each of 128 blocks, 104 KiB for each of 40.
TEST(LoopWeights, StayInABlocksMemoryWhereTheyFit) {
  const BoundLayer atr("atr", 64, 1024);
  EXPECT_TRUE(atr.loops(kDevices[4].limits)[0].keeps_weights());
  EXPECT_TRUE(atr.loops(kDevices[3].limits)[0].keeps_weights());
  EXPECT_FALSE(atr.loops(kDevices[0].limits)[0].keeps_weights());
  // The four matrices of an LSTM of this width do not fit in float32. At half the width they do, with all rows of the state.
  const BoundLayer lstm("lstm", 64, 1024), rounded("lstm", 64, 1024, ProductPrecision::kBFloat16);
  EXPECT_FALSE(lstm.loops(kDevices[1].limits)[0].keeps_weights());
  EXPECT_TRUE(rounded.loops(kDevices[1].limits)[0].keeps_weights());
}

// The weights of 64 columns, 1024 deep, take half of a block's 227 KiB in bfloat16. They fit into clusters of 16; four such
// matrices do not. If the largest clusters have 8 blocks, weights of 650 columns fit.
TEST(LoopClusters, AreTakenWhereOneHasRoomForAllWeights) {
  const auto clusters = [](const BoundLayer& layer, const DeviceLimits& limits) {
    std::vector<std::pair<std::int64_t, int>> of_loops;
    for (const LoopPlan& plan : layer.loops(limits)) {
      of_loops.emplace_back(plan.blocks() / plan.cluster(), plan.cluster());
      EXPECT_TRUE(plan.cluster() == 1 || plan.keeps_weights());
    }
    return of_loops;
  };
  using Clusters = std::vector<std::pair<std::int64_t, int>>;
  const DeviceLimits &a100 = kDevices[1].limits, &h200 = kDevices[4].limits, &rtx5090 = kDevices[6].limits;
  const BoundLayer atr("atr", 64, 1024, ProductPrecision::kBFloat16), exact("atr", 64, 1024);
  EXPECT_EQ(clusters(atr, h200), (Clusters{{7, 16}, {7, 16}}));
  EXPECT_EQ(clusters(atr, a100), (Clusters{{108, 1}, {108, 1}}));
  EXPECT_EQ(clusters(exact, h200), (Clusters{{132, 1}, {132, 1}})) << "of float32 a block would have 256 KiB";
  EXPECT_EQ(clusters(BoundLayer("lstm", 64, 1024, ProductPrecision::kBFloat16), h200), (Clusters{{132, 1}, {132, 1}}));
  EXPECT_EQ(clusters(BoundLayer("lstm", 64, 384, ProductPrecision::kBFloat16), h200), (Clusters{{7, 16}, {7, 16}}));
  EXPECT_EQ(clusters(BoundLayer("lstm", 64, 512, ProductPrecision::kBFloat16), h200), (Clusters{{7, 16}, {132, 1}}))
      << "backward, four gates' gradients are passed beside the weights";
  EXPECT_EQ(clusters(BoundLayer("atr", 20, 650), h200), (Clusters{{7, 16}, {7, 16}}));
  EXPECT_EQ(clusters(BoundLayer("atr", 20, 400, ProductPrecision::kBFloat16), rtx5090), (Clusters{{20, 8}, {20, 8}}));
  // One cluster per sentence; few columns, shared by fewer blocks.
  EXPECT_EQ(clusters(BoundLayer("atr", 3, 650), h200), (Clusters{{3, 16}, {3, 16}}));
  EXPECT_EQ(clusters(BoundLayer("atr", 64, 40), h200), (Clusters{{32, 4}, {32, 4}}));
}

// Such loops have no barriers of clusters but the one before the first step.
TEST(LoopClusters, CountWhatArrivesWhereEveryBlockSendsAPart) {
  const DeviceLimits& h200 = kDevices[4].limits;
  const auto check = [&](const std::string& cell, std::int64_t hidden, bool arrives) {
    SCOPED_TRACE(cell + " " + std::to_string(hidden));
    const BoundLayer layer(cell, 64, hidden, ProductPrecision::kBFloat16);
    for (const LoopPlan& plan : layer.loops(h200)) {
      EXPECT_GT(plan.cluster(), 1);
      EXPECT_EQ(plan.arrives, arrives);
      const std::string text = loop_text(plan).text, barrier = "cuda::cluster_barrier();";
      EXPECT_EQ(text.find(barrier) == text.rfind(barrier), arrives);
    }
  };
  check("atr", 1024, true);
  check("lstm", 256, true);
  check("gru", 256, true);
  check("gru", 384, false);  // twelve blocks have 32 columns; four have none
}

TEST(LoopProducts, StayInABlocksMemoryWhereOnlyTheBlockReadsThem) {
  const auto local = [](const BoundLayer& layer, const DeviceLimits& limits) {
    std::vector<int> of_loops;
    for (const LoopPlan& plan : layer.loops(limits)) {
      of_loops.push_back(static_cast<int>(
          std::count_if(plan.members.begin(), plan.members.end(), [](const auto& m) { return m.local >= 0; })));
    }
    return of_loops;
  };
  const DeviceLimits& h200 = kDevices[4].limits;
  EXPECT_EQ(local(BoundLayer("atr", 64, 1024, ProductPrecision::kBFloat16), h200), (std::vector<int>{0, 1}))
      << "forward, the product is saved for the backward pass";
  EXPECT_EQ(local(BoundLayer("lstm", 16, 768, ProductPrecision::kBFloat16), h200), (std::vector<int>{1, 0}))
      << "backward, it is a state";
  DeviceLimits small = h200;
  small.shared = 16 * kKiB, small.clusters = {};
  EXPECT_EQ(local(BoundLayer("atr", 8192, 1024, ProductPrecision::kBFloat16), small), (std::vector<int>{0, 0}))
      << "there is no room";
}

// How much a block reads of other rows depends on its number of rows; all weights stay in the blocks' memory.
TEST(LoopRows, AreSharedOutWhereThatCostsAStepLeast) {
  const DeviceLimits& h200 = kDevices[4].limits;
  const auto parts = [&](const std::string& cell, std::int64_t batch, std::int64_t hidden) {
    const LoopPlan plan = BoundLayer(cell, batch, hidden, ProductPrecision::kBFloat16).loops(h200)[0];
    EXPECT_EQ(plan.cluster(), 1);
    EXPECT_TRUE(plan.keeps_weights());
    EXPECT_EQ(plan.blocks() % plan.grid_row_parts(), 0);
    return plan.grid_row_parts();
  };
  EXPECT_EQ(parts("lstm", 16, 1024), 1) << "one tile of rows";
  EXPECT_EQ(parts("lstm", 64, 1024), 2) << "of a fourth of the rows a block would have 256 KiB of weights";
  EXPECT_GE(parts("gru", 80, 1000), 2);
}

// The columns that a block computes match the memory that was reserved for it.
TEST(LoopColumns, BelongToOneBlockEach) {
  for (int together : {loop::kColumnsTogether, 16}) {
    for (int blocks : {1, 3, 16, 40, 132}) {
      for (int columns : {1, 3, 4, 7, 64, 132, 650, 1000, 1024}) {
        std::vector<int> owners(static_cast<std::size_t>(columns));
        int most = 0;
        cuda::emulate({blocks, 1, 0, false}, [&] {
          loop::Part part = loop::part_of_grid(blocks, 1);
          part.together = together;
          const loop::Columns own(columns, part);
          EXPECT_TRUE(own.count() == 0 || own.begin % together == 0);
          for (int c = own.begin; c < own.end; ++c) ++owners[static_cast<std::size_t>(c)];
          most = std::max(most, own.count());
        });
        EXPECT_THAT(owners, ::testing::Each(1)) << blocks << " blocks, " << columns << " columns";
        const int pieces = (columns + together - 1) / together;
        EXPECT_LE(most, (pieces + blocks - 1) / blocks * together);
      }
    }
  }
}

}  // namespace
}  // namespace graphrun
