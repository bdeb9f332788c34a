// The grid that emulates kernels, and the arithmetic of real launches within the limits of devices.
#include "runtime/cuda/emulation.h"

#include <gtest/gtest.h>

#include "ops/reduce/column_grid.h"
#include "runtime/base/status.h"
#include "runtime/cuda/blas.h"

namespace graphrun::cuda {
namespace {

TEST(Emulation, RunsEveryThreadOfEveryBlockOnce) {
  std::vector<int> runs(3 * 40);
  for (bool barriers : {false, true}) {
    emulate({3, 40, 0, barriers}, [&] { ++runs[static_cast<std::size_t>(block_index() * thread_count() + thread_index())]; });
  }
  for (int n : runs) EXPECT_EQ(n, 2);
}

TEST(Emulation, ThreadsMeetAtBarriersAndShareABlocksMemory) {
  std::vector<int> sums(2);
  emulate({2, 64, 64 * sizeof(int), true}, [&] {
    int* shared = static_cast<int*>(shared_memory());
    const int t = thread_index();
    shared[t] = t;
    for (int half = 32; half > 0; half /= 2) {
      barrier();
      if (t < half) shared[t] += shared[t + half];
    }
    if (t == 0) sums[static_cast<std::size_t>(block_index())] = shared[0];
  });
  EXPECT_EQ(sums, (std::vector<int>{2016, 2016}));
}

TEST(Emulation, BlocksOfAClusterMeetAndWriteToEachOthersMemory) {
  std::vector<int> sums(6);
  EmulatedGrid grid = {6, 2, 8 * sizeof(int), true};
  grid.cluster = 3;
  emulate(grid, [&] {
    int* const shared = static_cast<int*>(shared_memory());
    const int rank = cluster_rank(), t = thread_index();
    ASSERT_EQ(block_index() % 3, rank);
    cluster_barrier();  // all blocks have started
    for (int other = 0; other < 3; ++other) memory_of(other, shared)[rank * 2 + t] = static_cast<int>(block_index()) * 10 + t;
    cluster_barrier();
    if (t != 0) return;
    for (int i = 0; i < 6; ++i) sums[static_cast<std::size_t>(block_index())] += shared[i];
  });
  EXPECT_EQ(sums, (std::vector<int>{63, 63, 63, 243, 243, 243}));
}

// A block may send before the other expects anything. Each waits for both words of the other; rounds alternate.
TEST(Emulation, CountsTheWordsThatBlocksSendEachOther) {
  std::vector<unsigned> seen(4);
  EmulatedGrid grid = {2, 2, 64, true};
  grid.cluster = 2;
  emulate(grid, [&] {
    auto* const arrivals = static_cast<Arrivals*>(shared_memory());
    auto* const words = static_cast<unsigned*>(shared_memory()) + 4;
    const int rank = cluster_rank(), t = thread_index();
    if (t == 0) begin_arrivals(arrivals);
    cluster_barrier();
    for (unsigned round = 0; round < 2; ++round) {
      const unsigned sent[2] = {round * 100 + static_cast<unsigned>(rank) * 10 + static_cast<unsigned>(t), 1};
      send_words(1 - rank, words + t * 2, sent, arrivals);
      if (t == 0) expect_arrivals(arrivals, 16);
      await_arrivals(arrivals, static_cast<int>(round));
      seen[static_cast<std::size_t>(rank * 2 + t)] = words[t * 2];
      cluster_barrier();
    }
  });
  EXPECT_EQ(seen, (std::vector<unsigned>{110, 111, 100, 101}));
}

TEST(Emulation, RefusesWhatAClusterHasNot) {
  EmulatedGrid grid = {4, 2, 8, true};
  grid.cluster = 3;
  EXPECT_THROW(emulate(grid, [] {}), InternalError) << "4 blocks are no clusters of 3";
  grid.cluster = 2;
  EXPECT_THROW(emulate(grid, [] { memory_of(2, static_cast<char*>(shared_memory())); }), InternalError);
  EXPECT_THROW(emulate(grid, [] { memory_of(1, static_cast<char*>(shared_memory()) + 8); }), InternalError);
  EXPECT_THROW(emulate({4, 2, 8, false}, [] { cluster_rank(); }), InternalError);
}

TEST(Emulation, TheOrderOfThreadsShowsAMissingBarrier) {
  const auto last_seen = [](bool backwards) {
    set_emulation_backwards(backwards);
    int seen = 0;
    emulate({1, 8, sizeof(int), true}, [&] {
      int* shared = static_cast<int*>(shared_memory());
      if (thread_index() == 0) *shared = 7;
      if (thread_index() == 7) seen = *shared;  // lacks a barrier before it
    });
    set_emulation_backwards(false);
    return seen;
  };
  EXPECT_EQ(last_seen(false), 7);
  EXPECT_NE(last_seen(true), 7);
}

TEST(Emulation, RefusesABarrierThatSomeThreadsNeverReach) {
  const auto kernel = [] {
    if (thread_index() < 5) barrier();
  };
  EXPECT_THROW(emulate({1, 8, 0, true}, kernel), InternalError);
  // Later launches are not affected.
  int runs = 0;
  emulate({1, 8, 0, true}, [&] {
    barrier();
    ++runs;
  });
  EXPECT_EQ(runs, 8);
}

// Every device from compute capability 7.5 to 12.0 allows at least 1024 threads and 48 KiB of shared memory per block by
// default, and 2^31 - 1 blocks. Launches that need no more suit all devices.
TEST(ColumnGrid, FitsEveryDeviceAndCoversEveryColumnOnce) {
  constexpr std::size_t kShared = 48 * 1024, kWidestValue = 16;
  for (std::int64_t outer : {1, 7, 3000}) {
    for (std::int64_t n : {0, 1, 2, 31, 700, 100000}) {
      for (std::int64_t inner : {1, 3, 33, 650, 70000}) {
        const AxisView view{outer, n, inner};
        for (const int most : {ColumnGrid::kThreads, ColumnGrid::kMostThreads}) {
          const ColumnGrid grid = column_grid(view, most);
          EXPECT_LE(grid.threads(), most);
          EXPECT_LE(most, 1024);
          EXPECT_LE(grid.shared(kWidestValue), kShared);
          EXPECT_EQ(grid.lanes * grid.results, grid.threads());
          EXPECT_EQ(grid.threads() % 32, 0) << "lanes pass each other values in whole warps";
          EXPECT_EQ(grid.lanes & (grid.lanes - 1), 0) << "lanes are joined by halves";
          EXPECT_GE(grid.blocks * grid.results, view.results());
          EXPECT_LT((grid.blocks - 1) * grid.results, view.results()) << "a block with nothing to do";
          EXPECT_LT(grid.blocks, std::int64_t{1} << 31);
          // A warp reads neighbors: 32 columns at least, unless the axis itself is the last one.
          EXPECT_TRUE(grid.along_axis || grid.results >= 32);
        }
      }
    }
  }
}

TEST(ColumnMajor, IsTheSameProductSeenTransposed) {
  // [2, 3] · [3, 2], the right factor stored transposed.
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 0, 1, 1};
  float y[4] = {10, 10, 10, 10};
  RowMajorProduct p;
  p.m = 2, p.n = 2, p.k = 3, p.transpose_b = true, p.accumulate = true;
  multiply_rows(nullptr, p, ProductPrecision::kFloat32, a, b, y);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{17, 15, 26, 21}));
  const ColumnMajorCall call = column_major(p);
  EXPECT_TRUE(call.transpose_first);
  EXPECT_FALSE(call.transpose_second);
  EXPECT_EQ(call.first_rows, 3);
  EXPECT_EQ(call.second_rows, 3);
  EXPECT_EQ(call.result_rows, 2);
}

}  // namespace
}  // namespace graphrun::cuda
