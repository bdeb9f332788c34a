// Values computed from variables alone are kept from run to run: reused while the variables are unchanged, recomputed after any
// write.
#include "runtime/execute/packed_weights.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/execute/executable.h"
#include "runtime/threads/own_threads.h"
#include "runtime/threads/threads.h"
#include "tests/runtime/elman_loop.h"
#include "tests/same_bits.h"

namespace graphrun {
namespace {

using tests::same_bits;
// A loop with its matrix, and a product outside of it with its last state.
const std::string kNetwork = R"(
graph "network" {
  input %x: FLOAT[time, batch, 40]
  input %h0: FLOAT[batch, 40]
  parameter %U: FLOAT[40, 40] = xavier(0.0)
  parameter %P: FLOAT[40, 70] = xavier(0.0)
)" + tests::elman_loop("end", 40) +
                             R"(  %y = matmul(%end, %P)
  %loss = sum(%y)
  output "y" = %y
  output "loss" = %loss
}
)";

Tensor numbers(const Sizes& sizes, unsigned seed) {
  Tensor t(DType::kFloat32, sizes);
  for (float& x : t.span<float>()) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 20) / 4096 - 0.5f;
  }
  return t;
}

Feeds feeds(std::int64_t batch, std::int64_t time = 9) {
  return {{"x", numbers({time, batch, 40}, 1)}, {"h0", numbers({batch, 40}, 2)}};
}

Program inference() {
  CompileOptions options;
  options.fetches = {"y"};
  return compile(ir::parse(kNetwork, "network"), options);
}

Program training() {
  TrainOptions train;
  train.minimize = "loss";
  return compile(ir::parse(kNetwork, "network"), {}, &train);
}

class PackedWeightsTest : public ::testing::Test {
 protected:
  PackedWeightsTest() {
    initialize(executable_.program(), *variables_, 5);
    first_ = run(executable_);
  }
  static Tensor run(Executable& executable, std::int64_t batch = 3) { return executable.run(feeds(batch))[0]; }
  // The result of a new executable, which has nothing cached.
  Tensor afresh(std::int64_t batch = 3) const {
    Executable fresh(inference(), variables_);
    return run(fresh, batch);
  }
  // The next run sees what was written, and not by coincidence.
  void expect_seen() {
    const Tensor y = run(executable_);
    EXPECT_TRUE(same_bits(y, afresh()));
    EXPECT_FALSE(same_bits(y, first_));
  }
  void train() {
    Executable trainer(training(), variables_);
    Feeds all = feeds(3);
    for (const FeedSpec& feed : trainer.program().feeds) {
      if (all.count(feed.name) == 0) all[feed.name] = Tensor::of<float>({}, {0.25f});
    }
    trainer.run(all);
    EXPECT_EQ(trainer.packed_bytes(), 0u);  // nothing derived from variables that it writes itself is kept
  }

  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  Executable executable_{inference(), variables_};
  Tensor first_;
};

TEST_F(PackedWeightsTest, AreUsedAgain) {
  ASSERT_GT(executable_.packed_bytes(), 0u);
  EXPECT_TRUE(same_bits(run(executable_), first_));
  // Written without the runtime's knowledge: so nothing was read again.
  for (const char* name : {"U", "P"}) variables_->at(name).data<float>()[0] += 1;
  EXPECT_TRUE(same_bits(run(executable_), first_));
  EXPECT_FALSE(same_bits(afresh(), first_));
}

TEST_F(PackedWeightsTest, AreSharedByExecutablesOnSeveralThreads) {
  ASSERT_TRUE(executable_.can_share());
  std::vector<Executable> all;
  for (int i = 0; i < 3; ++i) all.push_back(executable_.share());
  for (const bool written : {false, true}) {
    if (written) variables_->at("U").mark_written();
    on_own_threads(3, [&](int i) {
      for (const std::int64_t batch : {3, 7, 3})
        EXPECT_TRUE(same_bits(run(all[static_cast<std::size_t>(i)], batch), afresh(batch)));
    });
  }
  EXPECT_TRUE(same_bits(run(executable_), first_));
  for (const Executable& one : all) EXPECT_EQ(one.packed_bytes(), executable_.packed_bytes());
  EXPECT_FALSE(Executable(training(), variables_).can_share());
}

TEST_F(PackedWeightsTest, SeeAnElementThatWasWritten) {
  variables_->at("U").data<float>()[41] += 1;
  variables_->at("U").mark_written();
  expect_seen();
}

TEST_F(PackedWeightsTest, SeeATensorThatWasSet) {
  variables_->set("P", numbers({40, 70}, 7));
  expect_seen();
}

TEST_F(PackedWeightsTest, SeeAStepOfTraining) {
  train();
  expect_seen();
}

TEST_F(PackedWeightsTest, SeeAStepOfTrainingThatSharesTensorsAlone) {
  auto others = std::make_shared<Variables>();
  for (const auto& [name, tensor] : variables_->all()) others->set(name, tensor);
  Executable other(inference(), others);
  EXPECT_TRUE(same_bits(run(other), first_));
  train();
  EXPECT_TRUE(same_bits(run(other), afresh()));
}

TEST_F(PackedWeightsTest, AreSharedByBatchShapes) {
  const std::size_t bytes = executable_.packed_bytes();
  for (std::int64_t batch : {1, 2, 5, 8}) EXPECT_TRUE(same_bits(run(executable_, batch), afresh(batch))) << batch;
  EXPECT_EQ(executable_.packed_bytes(), bytes);
  // Larger batches may need another layout, and very large ones none.
  for (std::int64_t batch : {30, 150}) EXPECT_TRUE(same_bits(run(executable_, batch), afresh(batch))) << batch;
  EXPECT_TRUE(same_bits(run(executable_), first_));
  // The same if the loop is too short to be shared.
  Executable fresh(inference(), variables_);
  EXPECT_TRUE(same_bits(executable_.run(feeds(3, 2))[0], fresh.run(feeds(3, 2))[0]));
}

// Two concurrent loops over one matrix, and a third product with it: it is packed once; its transpose is packed separately.
const std::string kTied = R"(
graph "tied" {
  input %x: FLOAT[time, batch, 256]
  input %h0: FLOAT[batch, 256]
  parameter %U: FLOAT[256, 256] = xavier(0.0)
)" + tests::elman_loop("a", 256) +
                          tests::elman_loop("b", 256, true) + R"(  %s = add(%a, %b)
  %y = matmul(%s, %U)
  %z = matmul(%s, %U; transpose_b=true)
  output "a" = %a
  output "b" = %b
  output "y" = %y
  output "z" = %z
}
)";

TEST(PackedWeights, IsOnceForAllThatWantItAlike) {
  const auto run = [](const std::vector<std::string>& fetches, std::size_t& bytes) {
    CompileOptions options;
    options.fetches = fetches;
    auto variables = std::make_shared<Variables>();
    Executable executable(compile(ir::parse(kTied, "tied"), options), variables);
    initialize(executable.program(), *variables, 5);
    const Feeds all = {{"x", numbers({40, 4, 256}, 1)}, {"h0", numbers({4, 256}, 2)}};
    std::vector<Tensor> results;
    for (int times = 0; times < 3; ++times) {
      results = executable.run(all);
      variables->at("U").data<float>()[7] += 0.5f, variables->at("U").mark_written();
    }
    bytes = executable.packed_bytes();
    return results;
  };
  std::size_t alone = 0, both = 0, all = 0, transposed = 0;
  const std::vector<Tensor> a = run({"a"}, alone), ab = run({"a", "b"}, both), aby = run({"a", "b", "y"}, all);
  const std::vector<Tensor> abyz = run({"a", "b", "y", "z"}, transposed);
  ASSERT_GT(alone, 0u);
  EXPECT_EQ(both, alone);
  EXPECT_EQ(all, alone);
  EXPECT_EQ(transposed, 2 * alone);
  EXPECT_TRUE(same_bits(a[0], abyz[0]));
  for (std::size_t i = 0; i < ab.size(); ++i) EXPECT_TRUE(same_bits(ab[i], abyz[i]));
  EXPECT_TRUE(same_bits(aby[2], abyz[2]));
  EXPECT_FALSE(same_bits(abyz[2], abyz[3]));
}

TEST_F(PackedWeightsTest, MayBeNarrow) {
  std::vector<std::size_t> bytes;
  for (const WeightForm form : {WeightForm::kBFloat16, WeightForm::kInt8}) {
    const auto narrow = [&] { return Executable(inference(), variables_, Target(cpu_device(), form)); };
    Executable executable = narrow();
    const Tensor y = run(executable);
    EXPECT_FALSE(same_bits(y, first_));
    for (std::int64_t i = 0; i < y.count(); ++i) EXPECT_NEAR(y.at(i), first_.at(i), 0.02) << i;
    bytes.push_back(executable.packed_bytes());
    EXPECT_TRUE(same_bits(run(executable), y));
    // Rounded again after they were written.
    variables_->at("P").data<float>()[3] += 1, variables_->at("P").mark_written();
    Executable fresh = narrow();
    const Tensor after = run(executable);
    EXPECT_TRUE(same_bits(after, run(fresh)));
    EXPECT_FALSE(same_bits(after, y));
    variables_->at("P").data<float>()[3] -= 1, variables_->at("P").mark_written();
  }
  EXPECT_LT(bytes[1], bytes[0]);
  // Two bytes per element, and for every 16 columns a cache line with the direction in which they are traversed.
  EXPECT_EQ(bytes[0], (48u * 40 + 80u * 40) * 2 + (48u + 80u) / 16 * 64);
}

TEST_F(PackedWeightsTest, HaveTheSameBitsForAnyNumberOfThreads) {
  const int before = threads();
  for (int t = 1; t <= core_count(); ++t) {
    set_threads(t);
    EXPECT_TRUE(same_bits(afresh(), first_));
    EXPECT_TRUE(same_bits(run(executable_), first_));
  }
  set_threads(before);
}

// A product with a matrix that many runs are fed.
Program fed_matrix() {
  return compile(ir::parse(R"(
graph "fed" {
  input %x: FLOAT[batch, 40]
  input %P: FLOAT[40, columns] lasting
  %y = matmul(%x, %P)
  output "y" = %y
}
)",
                           "fed"));
}
Tensor product_with(Executable& executable, const Tensor& matrix) {
  return executable.run({{"x", numbers({3, 40}, 1)}, {"P", matrix}})[0].clone();
}

TEST(LastingFeeds, ArePackedOnceAndAgainWhenAnotherIsFed) {
  for (const WeightForm form : {WeightForm::kFloat32, WeightForm::kBFloat16, WeightForm::kInt8}) {
    const auto made = [&] { return Executable(fed_matrix(), std::make_shared<Variables>(), Target(cpu_device(), form)); };
    Executable executable = made();
    const Tensor one = numbers({40, 70}, 2), two = numbers({40, 70}, 3), wide = numbers({40, 90}, 4);
    const Tensor of_one = product_with(executable, one);
    EXPECT_GT(executable.packed_bytes(), 0u);
    for (const Tensor& matrix : {two, wide, one}) {
      Executable fresh = made();
      EXPECT_TRUE(same_bits(product_with(executable, matrix), product_with(fresh, matrix)));
    }
    // The same tensor is not packed again; one that says that it was written is.
    one.data<float>()[3] += 1;
    EXPECT_TRUE(same_bits(product_with(executable, one), of_one));
    one.mark_written();
    EXPECT_FALSE(same_bits(product_with(executable, one), of_one));
  }
}

TEST(LastingFeeds, AreNotSharedByExecutables) {
  Executable executable(fed_matrix(), std::make_shared<Variables>());
  std::vector<Executable> shares;
  std::vector<Tensor> matrices, expected;
  for (unsigned i = 0; i < 3; ++i) {
    shares.push_back(executable.share());
    matrices.push_back(numbers({40, 70}, 2 + i));
    expected.push_back(product_with(executable, matrices.back()));
  }
  on_own_threads(3, [&](int i) {
    const auto own = static_cast<std::size_t>(i);
    for (int k = 0; k < 20; ++k) EXPECT_TRUE(same_bits(product_with(shares[own], matrices[own]), expected[own]));
  });
}

// Places of sizes that no binding has any more are freed.
TEST(LastingFeeds, OfForgottenSizesTakeNoMemory) {
  Executable executable(fed_matrix(), std::make_shared<Variables>());
  std::size_t most = 0;
  for (std::int64_t columns = 1; columns <= 300; ++columns) {
    product_with(executable, numbers({40, columns}, 1));
    if (columns == 64) most = executable.packed_bytes();
  }
  EXPECT_LT(executable.packed_bytes(), 12 * most);  // 64 sizes of about 270 columns, for 64 of about 32
}

TEST(Version, IsOfTheElementsAndNeverComesBack) {
  EXPECT_EQ(Tensor().version(), 0u);
  const Tensor a(DType::kFloat32, {3});
  const Tensor b = a, c = a.clone();  // NOLINT(performance-unnecessary-copy-initialization): a copy shares the version
  EXPECT_NE(a.version(), 0u);
  EXPECT_EQ(a.version(), b.version());
  EXPECT_NE(a.version(), c.version());
  const std::uint64_t before = a.version();
  b.mark_written();
  EXPECT_NE(a.version(), before);
  EXPECT_EQ(a.version(), b.version());
}

}  // namespace
}  // namespace graphrun
