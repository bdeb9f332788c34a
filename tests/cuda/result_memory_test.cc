// The memory of results that stay on the device, and of what feeds the runs there.
#include "runtime/tensor/result_memory.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/execute/executable.h"
#include "tests/cuda/device.h"

namespace graphrun {
namespace {

class CudaResultMemory : public ::testing::Test {
 protected:
  using Result = DeviceResultMemory::Result;
  Tensor take(Sizes sizes) { return memory_.take({{0, DType::kFloat32, std::move(sizes)}}).front(); }

  Backend& device_ = tests::tested_device().backend();
  DeviceResultMemory memory_{device_};
};

// Each run is fed the previous run's result: two addresses alternate. The next such sequence begins with the first one again.
TEST_F(CudaResultMemory, TakesTurns) {
  for (const int runs : {4, 5}) {
    std::vector<const void*> places;
    Tensor state;
    for (int run = 0; run < runs; ++run) {
      state = take({2, 3});
      places.push_back(state.device_memory());
    }
    EXPECT_NE(places[0], places[1]);
    for (std::size_t run = 2; run < places.size(); ++run) EXPECT_EQ(places[run], places[run % 2]);
    state = Tensor();
    EXPECT_EQ(take({2, 3}).device_memory(), places[0]);
  }
}

// The results of a run lie together: one that is held keeps all others out of its set, but not those that need another.
TEST_F(CudaResultMemory, KeepsSetsTogether) {
  const std::vector<Result> both = {{0, DType::kInt32, {4}}, {2, DType::kFloat32, {8}}};
  std::vector<Tensor> first = memory_.take(both);
  EXPECT_EQ(first[1].sizes(), Sizes({8}));
  EXPECT_EQ(first[0].dtype(), DType::kInt32);
  const void* const place = first[0].device_memory();
  first[0] = Tensor();  // the second is held
  EXPECT_NE(memory_.take(both)[0].device_memory(), place);
  EXPECT_EQ(take({4}).device_memory(), place);
}

TEST_F(CudaResultMemory, LeavesWhatIsHeldAlone) {
  std::vector<Tensor> held;
  std::set<const void*> places;
  for (int run = 0; run < 5; ++run) {
    held.push_back(take({64}));
    EXPECT_FALSE(held.back().is_shared());
    EXPECT_TRUE(places.insert(held.back().device_memory()).second);
  }
}

TEST_F(CudaResultMemory, GrowsWhereMoreIsWanted) {
  const void* const small = take({1000}).device_memory();
  EXPECT_EQ(take({1001}).device_memory(), small) << "memory has some room to grow";
  EXPECT_EQ(take({3}).device_memory(), small);
  const Tensor large = take({100000});
  EXPECT_GE(large.bytes(), 400000u);
  device_.clear(large.device_memory(), large.bytes());
  EXPECT_EQ(large.to_host().at(99999), 0);
}

// A copy of a feed with a row replaced is in the feed's memory, but only if the feed was given up and nobody else holds it.
TEST_F(CudaResultMemory, IsThatOfAFeedThatIsGivenUp) {
  Executable executable(compile(ir::parse(R"(
graph "history" {
  input %history: FLOAT[room, 2]
  input %row: FLOAT[2]
  input %at: INT32[]
  %y = put(%history, %row, %at)
  output "y" = %y
}
)",
                                          "history"),
                                CompileOptions{}),
                        std::make_shared<Variables>(), tests::tested_device());
  RunOptions stays;
  stays.on_device = true;
  const auto feeds_at = [&](Tensor history, std::int32_t at) {
    return Feeds{{"history", std::move(history)},
                 {"row", Tensor::of<float>({2}, {1.0F, 2.0F})},
                 {"at", Tensor::of<std::int32_t>({}, {at})}};
  };
  const Tensor zeros = executable.zeros_on_device("history", DType::kFloat32, {3, 2});
  Tensor history = executable.run(feeds_at(zeros, 0), stays).front();
  EXPECT_NE(history.device_memory(), zeros.device_memory());
  const void* const place = history.device_memory();
  for (std::int32_t at = 1; at < 3; ++at) {
    history = executable.run(feeds_at(std::move(history), at), stays).front();
    EXPECT_EQ(history.device_memory(), place);
  }
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(history.to_host().at(i), static_cast<double>(i % 2 + 1));
    EXPECT_EQ(zeros.to_host().at(i), 0);
  }
  const std::vector<Tensor> both = Tensor::to_host({history, Tensor::of<float>({1}, {5.0F}), zeros});
  EXPECT_EQ(both[0].at(5), 2);
  EXPECT_EQ(both[1].at(0), 5);
  EXPECT_EQ(both[2].at(5), 0);
}

}  // namespace
}  // namespace graphrun
