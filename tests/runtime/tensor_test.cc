#include "runtime/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/base/attributes.h"

namespace graphrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Tensor, IsAlignedZeros) {
  for (const std::int64_t n : {1, 3, 17, 1000, 100000, 270000, 3000000}) {
    const Tensor t(DType::kFloat32, {n});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.raw()) % kAlignment, 0u);
    EXPECT_EQ(t.bytes(), static_cast<std::size_t>(n) * 4);
    for (float x : t.span<float>()) ASSERT_EQ(x, 0);
  }
  EXPECT_TRUE(Tensor().empty());
  EXPECT_FALSE(Tensor(DType::kFloat32, {0, 3}).empty());
  EXPECT_EQ(Tensor(DType::kInt32, {}).count(), 1);
}

TEST(Tensor, RefusesWhatHasNoRoom) {
  const std::int64_t big = std::int64_t{1} << 40;
  for (const Sizes& sizes : {Sizes{big}, Sizes{big, big}, Sizes{big, 1 << 22}, Sizes{-1}}) {
    try {
      Tensor(DType::kFloat64, sizes);
      FAIL() << str(sizes);
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kNoRoom);
      EXPECT_THAT(error.what(), HasSubstr("E0503 out-of-memory"));
      EXPECT_THAT(error.what(), HasSubstr(str(sizes)));
    }
  }
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  const Tensor a = Tensor::of<float>({2}, {1, 2});
  const Tensor shared = a, cloned = a.clone();
  a.data<float>()[0] = 9;
  EXPECT_EQ(shared.at(0), 9);
  EXPECT_EQ(cloned.at(0), 1);
  EXPECT_THROW(a.at(2), InternalError);
  EXPECT_THROW(a.at(-1), InternalError);
}

TEST(Tensor, PartsHaveTheMemoryOfTheWholeAndVersionsOfTheirOwn) {
  Tensor part;
  {
    const Tensor whole(DType::kFloat32, {40});
    part = Tensor::part_of(whole, 16, {2, 3});
    EXPECT_THROW(Tensor::part_of(whole, 16, {5, 5}), InternalError);
    EXPECT_THROW(Tensor::part_of(whole, 8, {2}), InternalError);  // its address is not aligned
    const std::uint64_t of_whole = whole.version(), before = part.version();
    part.mark_written();
    EXPECT_NE(part.version(), before);
    EXPECT_EQ(whole.version(), of_whole);
    part.data<float>()[5] = 7;
    EXPECT_EQ(whole.at(21), 7);
    EXPECT_FALSE(part.is_shared());
    EXPECT_TRUE(part.has_room_for(DType::kFloat32, {16}));
    EXPECT_FALSE(part.has_room_for(DType::kFloat32, {17}));
  }
  EXPECT_EQ(part.at(5), 7);  // it keeps the memory
  EXPECT_EQ(part.clone().at(5), 7);
}

TEST(Tensor, Converts) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::of<double>({6}, {0.5, -2.75, 0, 1e300, -kInfinity, std::nan("")});
  EXPECT_THAT(x.converted(DType::kInt32).span<std::int32_t>(),
              ElementsAre(0, -2, 0, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(), 0));
  EXPECT_THAT(x.converted(DType::kBool).span<bool>(), ElementsAre(true, true, false, true, true, true));
  EXPECT_EQ(x.converted(DType::kFloat32).at(1), -2.75);
  EXPECT_EQ(Tensor::of<bool>({2}, {true, false}).converted(DType::kFloat64).at(0), 1);
  EXPECT_EQ(Tensor::of<std::int32_t>({1}, {-7}).converted(DType::kFloat32).at(0), -7);
}

TEST(Attributes, ChecksNameAndKind) {
  Attributes attributes;
  attributes.set("axis", std::int64_t{-1});
  attributes.set("rows", Dim(Symbol::named("batch")));
  EXPECT_EQ(attributes.integer("axis"), -1);
  EXPECT_EQ(attributes.dim("rows"), Dim(Symbol::named("batch")));
  EXPECT_THROW(attributes.number("axis"), InternalError);
  EXPECT_THROW(attributes.integer("keep"), InternalError);
}

}  // namespace
}  // namespace graphrun
