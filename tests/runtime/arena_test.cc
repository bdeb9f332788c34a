#include "runtime/program/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <random>

#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {
namespace {

bool at_once(const ArenaBlock& a, const ArenaBlock& b) { return a.first <= b.last && b.first <= a.last; }

// Compares every pair of blocks.
void expect_no_overlap(const std::vector<ArenaBlock>& blocks, const ArenaLayout& layout) {
  ASSERT_EQ(layout.offsets.size(), blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(layout.offsets[i] % static_cast<std::int64_t>(kAlignment), 0);
    EXPECT_GE(layout.offsets[i], 0);
    EXPECT_LE(layout.offsets[i] + blocks[i].bytes, layout.peak);
    for (std::size_t j = 0; j < i; ++j) {
      if (!at_once(blocks[i], blocks[j])) continue;
      const bool apart =
          layout.offsets[i] + blocks[i].bytes <= layout.offsets[j] || layout.offsets[j] + blocks[j].bytes <= layout.offsets[i];
      ASSERT_TRUE(apart || blocks[i].bytes == 0 || blocks[j].bytes == 0) << i << " and " << j;
    }
  }
}

// The lower bound for any placement: the most bytes in use at the same time.
std::int64_t most_at_once(const std::vector<ArenaBlock>& blocks) {
  std::int64_t most = 0;
  for (const ArenaBlock& at : blocks) {
    std::int64_t bytes = 0;
    for (const ArenaBlock& block : blocks) bytes += block.first <= at.first && at.first <= block.last ? block.bytes : 0;
    most = std::max(most, bytes);
  }
  return most;
}

std::vector<ArenaBlock> random_blocks(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<ArenaBlock> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = static_cast<std::int32_t>(random() % count);
    const auto length = static_cast<std::int32_t>(random() % 8 == 0 ? random() % count : random() % 12);
    blocks.push_back(
        {static_cast<std::int64_t>(random() % 7) * 640 + static_cast<std::int64_t>(random() % 3), first, first + length});
  }
  return blocks;
}

TEST(AssignOffsets, KeepsBlocksThatAreTakenAtOnceApart) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<ArenaBlock> blocks = random_blocks(1 + 7 * seed, seed);
    expect_no_overlap(blocks, assign_offsets(blocks));
  }
}

TEST(AssignOffsets, KeepsManyBlocksApart) {
  const std::vector<ArenaBlock> blocks = random_blocks(2500, 1);
  expect_no_overlap(blocks, assign_offsets(blocks));
}

TEST(AssignOffsets, ComesNearToWhatIsNeeded) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<ArenaBlock> blocks = random_blocks(200, seed);
    EXPECT_LE(static_cast<double>(assign_offsets(blocks).peak), 1.25 * static_cast<double>(most_at_once(blocks)) + 64 * 200);
  }
}

TEST(AssignOffsets, ReusesWhatIsOver) {
  EXPECT_EQ(assign_offsets({{640, 0, 1}, {640, 2, 3}, {640, 4, 5}}).peak, 640);
  // The last one fits in the place of the first two.
  EXPECT_EQ(assign_offsets({{640, 0, 1}, {640, 0, 1}, {1280, 2, 3}}).peak, 1280);
}

TEST(AssignOffsets, TreatsBothEndsAsTaken) { EXPECT_EQ(assign_offsets({{640, 0, 1}, {640, 1, 2}}).peak, 1280); }

TEST(AssignOffsets, IsAPureFunction) {
  const std::vector<ArenaBlock> blocks = random_blocks(500, 3);
  EXPECT_EQ(assign_offsets(blocks).offsets, assign_offsets(blocks).offsets);
}

TEST(AssignOffsets, TakesNothing) {
  EXPECT_EQ(assign_offsets({}).peak, 0);
  EXPECT_EQ(assign_offsets({{0, 0, 5}}).peak, 0);
}

TEST(AssignOffsets, RefusesMoreThan63Bits) {
  const std::int64_t half = std::numeric_limits<std::int64_t>::max() / 2;
  EXPECT_THROW(assign_offsets({{half, 0, 1}, {half, 0, 1}, {half, 0, 1}}), UserError);
  EXPECT_THROW(assign_offsets({{std::numeric_limits<std::int64_t>::max(), 0, 1}}), UserError);
}

TEST(AssignOffsets, IsFastForThousandsOfBlocks) {
  const std::vector<ArenaBlock> blocks = random_blocks(5000, 5);
  const std::clock_t begin = std::clock();
  assign_offsets(blocks);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 0.1);  // about 2 ms without sanitizers
}

TEST(Layout, PutsAScansBodyIntoTheRegionAroundIt) {
  Program program;
  program.regions.resize(2);
  Region& root = program.regions[0];
  root.instructions.resize(3);
  root.instructions[1].kind = Instruction::Kind::kScan;
  root.instructions[1].scan.region = 1;
  root.blocks = {{Dim(1280), 0, 1}, {Dim(640), 1, 2}};
  program.regions[1].instructions.resize(1);
  program.regions[1].blocks = {{Dim(Symbol::named("batch")) * Dim(640), 0, 0}};

  const ProgramLayout placed = layout(program, {{Symbol::named("batch"), 2}}, {{{0}, {0}, {6400}}, {{64}}});
  EXPECT_EQ(placed.regions[1].bytes, 1280 + 64);
  const std::int64_t begin = placed.regions[1].base, end = begin + placed.regions[1].bytes;
  for (std::size_t b = 0; b < 2; ++b) {
    const std::int64_t at = placed.regions[0].blocks[b], bytes = b == 0 ? 1280 : 640;
    EXPECT_TRUE(at + bytes <= begin || end <= at) << b;
  }
  EXPECT_GE(placed.regions[1].blocks[0], begin);
  EXPECT_LE(placed.regions[1].blocks[0] + 1280, end);
  EXPECT_GE(placed.regions[1].workspaces[0], begin);
  EXPECT_GE(placed.bytes, 640 + 6400);  // the last instruction's workspace, in use together with the second block
}

}  // namespace
}  // namespace graphrun
