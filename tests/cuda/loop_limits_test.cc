// What a loop is launched with on devices of every compute capability from 7.5 to 12.0: plain arithmetic, which no device is
// needed for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/compile.h"
#include "ops/recurrent/loop_code.h"
#include "ops/recurrent/loop_device.h"
#include "runtime/binding.h"
#include "runtime/cuda/emulation.h"
#include "runtime/kept.h"
#include "runtime/team.h"
#include "tests/compiler/network_fixture.h"
#include "tests/cuda/device.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

struct Device75To120 {
  const char* name;
  DeviceLimits limits;
};
// Multiprocessors and the most shared memory that a block can ask for.
constexpr std::size_t kKiB = 1024;
const std::vector<Device75To120> kDevices = {
    {"7.5, T4", {40, 256, 64 * kKiB, false}},        {"8.0, A100", {108, 256, 163 * kKiB, true}},
    {"8.6, RTX 3090", {82, 256, 99 * kKiB, true}},   {"8.9, RTX 4090", {128, 256, 99 * kKiB, true}},
    {"9.0, H200", {132, 256, 227 * kKiB, true}},     {"10.0, B200", {148, 256, 227 * kKiB, true}},
    {"12.0, RTX 5090", {170, 256, 99 * kKiB, true}}, {"none there is", {1, 256, 48 * kKiB, false}}};

constexpr std::int64_t kWidestThreadRegisters = 255, kRegisters = 65536;

// A layer, forward and backward, bound at a shape; visits its loops.
class BoundLayer {
 public:
  BoundLayer(const std::string& cell, std::int64_t batch, std::int64_t hidden,
             ProductPrecision products = ProductPrecision::kFloat32) {
    testing::tested_device();
    GraphRequest request;
    request.path = testing::source_folder() + "/tests/bench/layer.pbtxt";
    request.graphs_root = testing::source_folder() + "/graphs";
    request.bindings = {{"cell", "cells/" + cell + ".pbtxt", {}},
                        {"width", std::to_string(hidden), {}},
                        {"hidden", std::to_string(hidden), {}}};
    program_ = compile(testing::with_gradients(load_graph(request)).graph, {});
    store_ = std::make_unique<KeptStore>(program_);
    binding_ = bind(program_, {{Symbol::named("time"), 30}, {Symbol::named("batch"), batch}},
                    Target(Device::kCuda, WeightForm::kFloat32, products), *store_);
  }

  // In the order of the program: the forward loop first.
  std::vector<LoopCode> loops(const DeviceLimits& limits) const {
    std::vector<LoopCode> all;
    for (const BoundInstruction& bound : binding_->root.instructions) {
      if (bound.scan) all.emplace_back(*bound.scan, meetings(*bound.scan, binding_->layout), limits);
    }
    return all;
  }

 private:
  Program program_;
  std::unique_ptr<KeptStore> store_;
  std::unique_ptr<Binding> binding_;
};

bool keeps_all_weights(const LoopCode& code) {
  return std::all_of(code.members().begin(), code.members().end(),
                     [](const LoopCode::Member& m) { return m.product == nullptr || m.resident >= 0; });
}

// Elements of a product's weights that some block has.
std::int64_t widest_share(const LoopCode::Member& m, std::int64_t blocks) {
  std::int64_t inner = 0;
  for (const Product& p : m.product->group.products) inner += p.k;
  const std::int64_t together = loop::kColumnsTogether, pieces = (m.columns + together - 1) / together;
  return inner * ((pieces + blocks - 1) / blocks) * together;
}

class LoopLimits : public ::testing::TestWithParam<std::string> {};

TEST_P(LoopLimits, AreKeptOnEveryDevice) {
  std::set<std::string> forward, backward;
  for (const auto& [batch, hidden] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 64}, {20, 650}, {64, 1024}, {80, 1000}, {256, 2048}, {3, 7}}) {
    const BoundLayer layer(GetParam(), batch, hidden);
    for (const auto& [name, limits] : kDevices) {
      const std::vector<LoopCode> loops = layer.loops(limits);
      ASSERT_EQ(loops.size(), 2u);
      forward.insert(loops[0].text().text), backward.insert(loops[1].text().text);
      for (const LoopCode& code : loops) {
        ASSERT_TRUE(code.fits()) << name << ", batch " << batch << ", hidden " << hidden;
        EXPECT_LE(code.shared(), limits.shared);
        // Every block is on the device at once: one a multiprocessor, whatever registers the compiler takes.
        EXPECT_LE(code.blocks(), limits.multiprocessors);
        EXPECT_LE(code.threads() * kWidestThreadRegisters, kRegisters);
        EXPECT_EQ(code.threads() % 32, 0);
        std::int64_t end = 0;
        for (const LoopCode::Member& m : code.members()) {
          if (m.resident < 0) continue;
          EXPECT_GE(m.resident, end) << "weights of two products in one place";
          EXPECT_EQ(m.resident % 16, 0);
          end = m.resident + widest_share(m, code.blocks()) * static_cast<std::int64_t>(size_of(m.product->dtype));
        }
        EXPECT_GE(static_cast<std::int64_t>(code.piece_at()), end);
      }
    }
  }
  // Sizes and devices come with the launch; whether batches are merged into one axis or rows are repeated is of the text.
  EXPECT_LE(forward.size(), 2u);
  EXPECT_LE(backward.size(), 2u);
}

// A tile of rounded weights is 8 columns of 16 numbers, one of rows 16 of them.
TEST_P(LoopLimits, AreKeptOnMatrixUnits) {
  for (const auto& [batch, hidden] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 64}, {20, 650}, {64, 1024}, {80, 1000}, {256, 2048}, {3, 7}}) {
    const BoundLayer layer(GetParam(), batch, hidden, ProductPrecision::kBFloat16);
    for (const auto& [name, limits] : kDevices) {
      for (const LoopCode& code : layer.loops(limits)) {
        ASSERT_TRUE(code.fits()) << name << ", batch " << batch << ", hidden " << hidden;
        EXPECT_LE(code.shared(), limits.shared);
        EXPECT_EQ(code.deep() > 0, limits.matrix_units);
        std::int64_t end = 0;
        for (const LoopCode::Member& m : code.members()) {
          if (m.product == nullptr) continue;
          EXPECT_EQ(m.rounded != nullptr, limits.matrix_units) << name;
          if (m.rounded == nullptr || m.resident < 0) continue;
          EXPECT_GE(m.resident, end) << "weights of two products in one place";
          EXPECT_EQ(m.resident % 16, 0);
          const std::int64_t pieces = (m.columns + loop::kColumnsTogether - 1) / loop::kColumnsTogether,
                             own = (pieces + code.blocks() - 1) / code.blocks() * loop::kColumnsTogether;
          std::int64_t deep = 0;
          for (std::size_t t = 0; t < m.product->terms(); ++t) deep += (m.product->group.products[t].k + 15) / 16;
          end = m.resident + (static_cast<std::int64_t>(m.product->groups()) * own + 7) / 8 * deep * 16 * 8 * 2;
        }
        if (limits.matrix_units) {
          EXPECT_GE(static_cast<std::int64_t>(code.piece_at()), end);
          EXPECT_GE(code.shared() - code.piece_at(), static_cast<std::size_t>((batch + 15) / 16 * code.deep() * 16 * 16 * 2));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, LoopLimits, ::testing::Values("atr", "gru", "lstm", "adaptive_gru"),
                         [](const auto& info) { return info.param; });

// 1024 x 1024 floats are 4 MiB: 32 KiB for each of 128 blocks, 104 for each of 40.
TEST(LoopWeights, StayInABlocksMemoryWhereTheyFit) {
  const BoundLayer atr("atr", 64, 1024);
  EXPECT_TRUE(keeps_all_weights(atr.loops(kDevices[4].limits)[0]));
  EXPECT_TRUE(keeps_all_weights(atr.loops(kDevices[3].limits)[0]));
  EXPECT_FALSE(keeps_all_weights(atr.loops(kDevices[0].limits)[0]));
  // Four matrices of an LSTM that wide do not, in float32; half as large, they do, with all rows of the state beside them.
  const BoundLayer lstm("lstm", 64, 1024), rounded("lstm", 64, 1024, ProductPrecision::kBFloat16);
  EXPECT_FALSE(keeps_all_weights(lstm.loops(kDevices[1].limits)[0]));
  EXPECT_TRUE(keeps_all_weights(rounded.loops(kDevices[1].limits)[0]));
}

// A block's columns, as a block finds them, are what its memory was measured for.
TEST(LoopColumns, BelongToOneBlockEach) {
  for (int blocks : {1, 3, 40, 132}) {
    for (int columns : {1, 3, 4, 7, 64, 650, 1000, 1024}) {
      std::vector<int> owners(static_cast<std::size_t>(columns));
      int most = 0;
      cuda::emulate({blocks, 1, 0, false}, [&] {
        const loop::Columns own(columns);
        for (int c = own.begin; c < own.end; ++c) ++owners[static_cast<std::size_t>(c)];
        most = std::max(most, own.count());
      });
      EXPECT_THAT(owners, ::testing::Each(1)) << blocks << " blocks, " << columns << " columns";
      const int pieces = (columns + loop::kColumnsTogether - 1) / loop::kColumnsTogether;
      EXPECT_LE(most, (pieces + blocks - 1) / blocks * loop::kColumnsTogether);
    }
  }
}

}  // namespace
}  // namespace graphrun
