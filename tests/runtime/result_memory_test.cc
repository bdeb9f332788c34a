#include "runtime/tensor/result_memory.h"

#include <gtest/gtest.h>

#include <optional>

namespace graphrun {
namespace {

TEST(ResultMemory, IsThatOfAResultThatNobodyHolds) {
  ResultMemory memory;
  std::optional<Tensor> first = memory.take(0, DType::kFloat32, {1000});
  const void* const place = first->raw();
  const std::uint64_t version = first->version();
  first.reset();
  const Tensor again = memory.take(0, DType::kInt32, {10, 90});  // reuses it
  EXPECT_EQ(again.raw(), place);
  EXPECT_NE(again.version(), version);
  EXPECT_EQ(again.sizes(), Sizes({10, 90}));
  EXPECT_EQ(again.dtype(), DType::kInt32);
  EXPECT_NE(memory.take(1, DType::kFloat32, {1000}).raw(), place);  // memory of another result
}

TEST(ResultMemory, LeavesWhatIsHeldAlone) {
  ResultMemory memory;
  const Tensor held = memory.take(0, DType::kFloat32, {64});
  held.data<float>()[0] = 7;
  const Tensor shared = held;
  for (int run = 0; run < 5; ++run) {
    const Tensor next = memory.take(0, DType::kFloat32, {64});
    ASSERT_NE(next.raw(), held.raw());
    next.data<float>()[0] = 1;
  }
  EXPECT_EQ(shared.data<float>()[0], 7);
}

// Each run is fed the previous run's result: two buffers alternate.
TEST(ResultMemory, TakesTurns) {
  ResultMemory memory;
  Tensor state = memory.take(0, DType::kFloat32, {64});
  const void* const one = state.raw();
  state = memory.take(0, DType::kFloat32, {64});
  const void* const other = state.raw();
  EXPECT_NE(one, other);
  for (int run = 0; run < 4; ++run) {
    state = memory.take(0, DType::kFloat32, {64});
    EXPECT_EQ(state.raw(), run % 2 == 0 ? one : other);
  }
}

TEST(ResultMemory, GrowsWhereMoreIsWanted) {
  ResultMemory memory;
  memory.take(0, DType::kFloat32, {8});
  const Tensor more = memory.take(0, DType::kFloat64, {10000});
  for (double& x : more.span<double>()) x = 1;
  EXPECT_EQ(more.count(), 10000);
}

}  // namespace
}  // namespace graphrun
