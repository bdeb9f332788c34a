// Loops that a device runs as one launch, whose blocks have rows of the batch and never wait, compared with the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/execute/binding.h"
#include "runtime/execute/executable.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/scan/launch.h"
#include "tests/cuda/device.h"
#include "tests/sanitized.h"

namespace graphrun {
namespace {

using ::testing::HasSubstr;

// A step with everything that can be part of such a loop. `mixed`: the value that is added at its end, of shape [batch, 6].
std::string steps(const std::string& mixed, const std::string& reverse = "false") {
  return R"(graph "network" {
  input %x: FLOAT[time, batch, 6]
  input %words: INT32[time, batch]
  input %places: INT32[time, batch]
  input %T: FLOAT[6, 6]
  input %E: FLOAT[5, 6]
  %h0: FLOAT[batch, 6] = full(; shape=[batch, 6], value=0.25, type="FLOAT")
  %end: FLOAT[batch, 6], %all: FLOAT[time, batch, 6], %best: INT32[time, batch, 6] = scan(%h0, %x, %words, %places, %T, %E; states=1, each=3, steps=<time>, reverse=)" +
         reverse + R"() body "b" {
    input %h: FLOAT[batch, 6]
    input %x: FLOAT[batch, 6]
    input %word: INT32[batch]
    input %place: INT32[batch]
    input %T: FLOAT[6, 6]
    input %E: FLOAT[5, 6]
    input %step: INT32[]
    %zero: INT32[] = constant(; type="INT32", value=0.0)
    %first: BOOL[] = eq(%step, %zero)
    %half: FLOAT[] = constant(; value=0.5)
    %e: FLOAT[batch, 6] = gather(%E, %word)
    %s: FLOAT[batch] = pick(%e, %place)
    %s1: FLOAT[batch, 1] = expand(%s; axis=-1)
    %m: FLOAT[batch, 1] = max(%h; axis=(-1), keep=true)
    %n: FLOAT[batch, 1] = min(%h; axis=(-1), keep=true)
    %a: FLOAT[batch, 1] = sum(%x; axis=(-1), keep=true)
    %b: FLOAT[batch, 1] = mean(%e; axis=(-1), keep=true)
    %l: FLOAT[batch, 1] = logsumexp(%h; axis=(-1), keep=true)
    %to: FLOAT[batch, 6, 1] = expand(%h; axis=-1)
    %pairs: FLOAT[batch, 6, 6] = add(%to, %T)
    %from: INT32[batch, 6] = argmax(%pairs; axis=1)
    %arrive: FLOAT[batch, 6] = max(%pairs; axis=(1))
    %u: FLOAT[batch, 6] = matmul(%h, %T)
    %d: FLOAT[batch, 6] = dropout(%u; rate=0.5, key="u#0")
    %p: FLOAT[batch, 6] = add(%d, %arrive)
    %q: FLOAT[batch, 6] = where(%first, %x, %p)
    %r1: FLOAT[batch, 1] = add(%m, %n)
    %r2: FLOAT[batch, 1] = add(%a, %b)
    %r3: FLOAT[batch, 1] = add(%l, %s1)
    %r4: FLOAT[batch, 1] = add(%r1, %r2)
    %r5: FLOAT[batch, 1] = add(%r4, %r3)
    %v: FLOAT[batch, 6] = add(%q, %r5)
    %w: FLOAT[batch, 6] = mul(%v, %half)
    %z: FLOAT[batch, 6] = add(%w, )" +
         mixed + R"()
    %h1: FLOAT[batch, 6] = tanh(%z)
    output "h" = %h1
    output "all" = %w
    output "best" = %from
  }
  output "end" = %end
  output "all" = %all
  output "best" = %best
})";
}

// `length`: another size that differs from batch to batch.
SymbolValues sizes(std::int64_t batch) {
  return {{Symbol::named("time"), 5}, {Symbol::named("batch"), batch}, {Symbol::named("length"), 1 + batch * 3 % 11}};
}

void set(Tensor& t, std::int64_t i, double x) {
  if (t.dtype() == DType::kInt32) {
    t.data<std::int32_t>()[i] = static_cast<std::int32_t>(x);
  } else if (t.dtype() == DType::kFloat64) {
    t.data<double>()[i] = x;
  } else {
    t.data<float>()[i] = static_cast<float>(x);
  }
}

Feeds feeds_for(const Program& program, std::int64_t batch) {
  std::mt19937 random(11);
  Feeds feeds;
  for (const FeedSpec& f : program.feeds) {
    Tensor t(f.dtype, evaluate(f.shape, sizes(batch)));
    for (std::int64_t i = 0; i < t.count(); ++i) {
      const std::uint32_t drawn = random();
      const double number = drawn / 4294967296. - 0.5;
      if (f.dtype == DType::kInt32) {
        set(t, i, drawn % 5);
      } else if (f.name == "coarse") {  // many equal elements, and some that are no numbers
        constexpr double kRare[] = {NAN, HUGE_VAL, -HUGE_VAL};
        set(t, i, drawn % 13 < 3 ? kRare[drawn % 13] : std::round(8 * number) / 8);
      } else {
        set(t, i, number);
      }
    }
    feeds[f.name] = t;
  }
  return feeds;
}

std::vector<Tensor> run(const Program& program, const Device& device, std::int64_t batch) {
  Executable executable(program, std::make_shared<Variables>(), device);
  RunOptions options;
  options.seed = 3, options.step = 4;
  std::vector<Tensor> results;
  for (int i = 0; i < 4; ++i) results = executable.run(feeds_for(program, batch), options);  // the last runs are replayed
  return results;
}

ScanPlan::Launch loop_of(const Program& program, std::int64_t batch) {
  PackedWeightsStore store(program);
  const auto binding = graphrun::bind(program, sizes(batch), tests::tested_device(), store);
  for (const BoundInstruction& bound : binding->root.instructions) {
    const auto* const launch = bound.scan ? std::get_if<ScanPlan::Launch>(&bound.scan->plan.way) : nullptr;
    if (launch != nullptr) return *launch;
  }
  return nullptr;
}

void expect_what_the_cpu_computes(const Program& program, std::int64_t batch, double tolerance = 1e-5) {
  const std::vector<Tensor> expected = run(program, cpu_device(), batch), found = run(program, tests::tested_device(), batch);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(found[k].sizes(), expected[k].sizes());
    for (std::int64_t i = 0; i < expected[k].count(); ++i) {
      const double right = expected[k].at(i), result = found[k].at(i);
      if (std::isfinite(right)) {
        ASSERT_NEAR(result, right, tolerance) << "result " << k << " at " << i << ", batch " << batch;
      } else {
        ASSERT_TRUE(result == right || (std::isnan(right) && std::isnan(result)))
            << "result " << k << " at " << i << ", batch " << batch << ": " << result << ", not " << right;
      }
    }
  }
}

class RowLoops : public ::testing::Test {
 protected:
  void SetUp() override {
    if (tests::tested_device(); tests::is_emulated()) before_ = tests::emulated_limits();
  }
  void TearDown() override {
    if (!tests::is_emulated()) return;
    tests::emulated_limits() = before_;
    tests::emulate_backwards(false);
  }
  // As much memory for each block as a GPU has.
  static void have_room() {
    if (tests::is_emulated()) tests::emulated_limits().shared = 200 << 10;
  }

 private:
  DeviceLimits before_;
};

// Fused, and each op separately: every kind of part.
TEST_F(RowLoops, ComputeWhatTheCpuComputes) {
  for (const char* reverse : {"false", "true"}) {
    for (const std::vector<std::string>& disabled :
         {std::vector<std::string>{}, std::vector<std::string>{"fuse", "hoist", "logsumexp_to_matmul", "fuse_reductions"}}) {
      CompileOptions options;
      options.disabled_passes = disabled;
      const Program program = compile(ir::parse(steps("%d", reverse), "network"), options);
      // Fewer rows than multiprocessors, more, and a number that they do not divide.
      for (std::int64_t batch : {1, 2, 7, 40}) {
        expect_what_the_cpu_computes(program, batch);
        const auto loop = loop_of(program, batch);
        ASSERT_NE(loop, nullptr);
        EXPECT_FALSE(loop->traits().synchronizes);
        EXPECT_THAT(loop->describe(), HasSubstr("each block has its own rows of the batch"));
      }
    }
  }
}

TEST_F(RowLoops, ComputeInDoublePrecision) {
  CompileOptions options;
  options.precision = Precision::kFloat64;
  const Program program = compile(ir::parse(steps("%d"), "network"), options);
  expect_what_the_cpu_computes(program, 7, 1e-12);
  EXPECT_NE(loop_of(program, 7), nullptr);
}

// A step with every fold, over columns of `n` elements, and products with a factor of [n, n].
std::string folds(const std::string& n, bool multiplies) {
  std::string text = R"(graph "network" {
  input %x: FLOAT[time, batch, N]
  input %coarse: FLOAT[time, batch, N]
  input %whole: INT32[time, batch, N]
  input %T: FLOAT[N, N]
  %h0: FLOAT[batch, N] = full(; shape=[batch, N], value=0.25, type="FLOAT")
  %end: FLOAT[batch, N], %all: FLOAT[time, batch, N], %numbers: FLOAT[time, batch], %most: FLOAT[time, batch], %least: FLOAT[time, batch], %places: INT32[time, batch], %best: INT32[time, batch, N] = scan(%h0, %x, %coarse, %whole, %T; states=1, each=3, steps=<time>) body "b" {
    input %h: FLOAT[batch, N]
    input %x: FLOAT[batch, N]
    input %coarse: FLOAT[batch, N]
    input %whole: INT32[batch, N]
    input %T: FLOAT[N, N]
    input %step: INT32[]
    %to: FLOAT[batch, N, 1] = expand(%h; axis=-1)
    %pairs: FLOAT[batch, N, N] = add(%to, %T)
    %from: INT32[batch, N] = argmax(%pairs; axis=1)
    %arrive: FLOAT[batch, N] = max(%pairs; axis=(1))
    %soft: FLOAT[batch, N] = logsumexp(%pairs; axis=(2))
    %sum: FLOAT[batch] = sum(%x; axis=(-1))
    %mean: FLOAT[batch] = mean(%h; axis=(-1))
    %number: FLOAT[batch] = add(%sum, %mean)
    %most: FLOAT[batch] = max(%coarse; axis=(-1))
    %least: FLOAT[batch] = min(%coarse; axis=(-1))
    %greatest: INT32[batch] = argmax(%coarse; axis=-1)
    %smallest: INT32[batch] = argmin(%whole; axis=-1)
    %largest: INT32[batch] = max(%whole; axis=(-1))
    %p: INT32[batch] = mul(%greatest, %largest)
    %place: INT32[batch] = add(%p, %smallest)
    MULTIPLY
    %q: FLOAT[batch, N] = add(%soft, %arrive)
    %r: FLOAT[batch, N] = add(%q, %x)
    %s: FLOAT[batch, N] = add(%r, %u)
    %h1: FLOAT[batch, N] = tanh(%s)
    output "h" = %h1
    output "all" = %s
    output "numbers" = %number
    output "most" = %most
    output "least" = %least
    output "places" = %place
    output "best" = %from
  }
  output "all" = %all
  output "numbers" = %numbers
  output "most" = %most
  output "least" = %least
  output "places" = %places
  output "best" = %best
})";
  const auto replace = [&text](const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
  };
  replace("MULTIPLY", multiplies ? "%u: FLOAT[batch, N] = matmul(%h, %T)" : "%u: FLOAT[batch, N] = neg(%h)");
  replace("[time, batch, N]", "[time, batch, " + n + "]"), replace("batch, N", "batch, " + n), replace(", N]", ", " + n + "]");
  replace("[N", "[" + n);
  return text;
}

// Columns shorter than the many threads that share one, columns that these do not divide, and columns that none share. The
// first two differ in kind.
TEST_F(RowLoops, ShareColumnsAmongThreads) {
  have_room();
  for (const std::string& n : tests::few_of<std::string>({"1", "45", "3", "9", "100"}, 2)) {
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      if (precision == Precision::kFloat64 && n != "45") continue;
      CompileOptions options;
      options.precision = precision;
      const bool is_double = precision == Precision::kFloat64;
      const Program program = compile(ir::parse(folds(n, true), "network"), options);
      for (const bool backwards : {false, true}) {
        if (tests::is_emulated()) tests::emulate_backwards(backwards);
        for (std::int64_t batch : {1, 7, 20}) expect_what_the_cpu_computes(program, batch, is_double ? 1e-12 : 1e-5);
      }
      EXPECT_NE(loop_of(program, 7), nullptr) << n;
    }
  }
}

// One text serves all numbers of rows: a batch of another size must not wait for a compiler. The same holds for other sizes
// that differ from batch to batch; those that do not are constants.
TEST_F(RowLoops, HaveOneTextForAllBatches) {
  for (const auto& [n, constant] : {std::pair("9", true), std::pair("length", false)}) {
    const Program program = compile(ir::parse(folds(n, constant), "network"), {});
    for (std::int64_t batch : {2, 7, 20}) expect_what_the_cpu_computes(program, batch);
    const auto first = loop_of(program, 2), second = loop_of(program, 20);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(first->text(), second->text());
    EXPECT_EQ(first->text().find("own.view.n = 9;") != std::string::npos, constant);
  }
}

// The order of a sum depends neither on the number of rows nor on that of blocks.
TEST_F(RowLoops, ComputeARowTheSameInEveryBatch) {
  have_room();
  const Program program = compile(ir::parse(folds("45", true), "network"), {});
  const Feeds many = feeds_for(program, 20);
  Feeds one = many;
  for (const char* name : {"x", "coarse", "whole"}) {
    const Tensor& from = many.at(name);
    Tensor row(from.dtype(), {5, 1, 45});
    for (std::int64_t t = 0; t < 5; ++t) {
      for (std::int64_t i = 0; i < 45; ++i) set(row, t * 45 + i, from.at((t * 20 + 11) * 45 + i));
    }
    one[name] = row;
  }
  Executable executable(program, std::make_shared<Variables>(), tests::tested_device());
  const Tensor all = executable.run(many)[0], alone = executable.run(one)[0];
  for (std::int64_t t = 0; t < 5; ++t) {
    for (std::int64_t i = 0; i < 45; ++i) ASSERT_EQ(all.at((t * 20 + 11) * 45 + i), alone.at(t * 45 + i)) << t << " " << i;
  }
}

// States that alternate, are updated in place, or are read from a stack that two of them share; an INT32 and a BOOL state.
TEST_F(RowLoops, HandOnStatesOfEveryKind) {
  constexpr const char* kGraph = R"(graph "network" {
  input %x: FLOAT[time, batch, 5]
  %a0: FLOAT[batch, 5] = full(; shape=[batch, 5], value=0.5, type="FLOAT")
  %b0: FLOAT[batch, 5] = full(; shape=[batch, 5], value=-0.25, type="FLOAT")
  %n0: INT32[batch] = full(; shape=[batch], value=0.0, type="INT32")
  %a: FLOAT[batch, 5], %b: FLOAT[batch, 5], %c: FLOAT[batch, 5], %n: INT32[batch], %all: FLOAT[time, batch, 5], %where: INT32[time, batch] = scan(%a0, %b0, %b0, %n0, %x; states=4, each=1, steps=<time>, reverse=true) body "b" {
    input %a: FLOAT[batch, 5]
    input %b: FLOAT[batch, 5]
    input %c: FLOAT[batch, 5]
    input %n: INT32[batch]
    input %x: FLOAT[batch, 5]
    input %step: INT32[]
    %m: FLOAT[batch, 1] = max(%a; axis=(-1), keep=true)
    %s: FLOAT[batch, 5] = sub(%x, %m)
    %b1: FLOAT[batch, 5] = tanh(%s)
    %p: FLOAT[batch, 5] = mul(%b, %c)
    %a1: FLOAT[batch, 5] = add(%p, %b1)
    %best: INT32[batch] = argmax(%a1; axis=-1)
    %n1: INT32[batch] = add(%n, %best)
    %c1: FLOAT[batch, 5] = add(%c, %x)
    output "a" = %a1
    output "b" = %a1
    output "c" = %c1
    output "n" = %n1
    output "all" = %a1
    output "where" = %n1
  }
  output "a" = %a
  output "b" = %b
  output "c" = %c
  output "n" = %n
  output "all" = %all
  output "where" = %where
})";
  const Program program = compile(ir::parse(kGraph, "network"), {});
  for (std::int64_t batch : {1, 4, 9}) expect_what_the_cpu_computes(program, batch);
  const auto loop = loop_of(program, 4);
  ASSERT_NE(loop, nullptr);
  EXPECT_THAT(loop->describe(), HasSubstr("each block has its own rows of the batch"));
}

// An empty batch, and zero steps.
TEST_F(RowLoops, MayHaveNothingToDo) {
  const Program program = compile(ir::parse(steps("%d"), "network"), {});
  expect_what_the_cpu_computes(program, 0);
}

TEST_F(RowLoops, AreNoneWhereOneThreadWouldGoThroughTooMuch) {
  const auto graph = [](const std::string& width) {
    return R"(graph "network" {
  input %x: FLOAT[time, batch, )" +
           width + R"(]
  %m0: FLOAT[batch] = full(; shape=[batch], value=0.5, type="FLOAT")
  %m: FLOAT[batch] = scan(%m0, %x; states=1, each=1, steps=<time>) body "b" {
    input %m: FLOAT[batch]
    input %x: FLOAT[batch, )" +
           width + R"(]
    input %step: INT32[]
    %one: FLOAT[batch, 1] = expand(%m; axis=-1)
    %s: FLOAT[batch, )" +
           width + R"(] = mul(%x, %one)
    %l: FLOAT[batch] = logsumexp(%s; axis=(-1))
    output "m" = %l
  }
  output "m" = %m
})";
  };
  EXPECT_NE(loop_of(compile(ir::parse(graph("1000"), "network"), {}), 4), nullptr);
  EXPECT_EQ(loop_of(compile(ir::parse(graph("1100"), "network"), {}), 4), nullptr);
}

TEST_F(RowLoops, AreNoneWhereARowReadsAnother) {
  std::string text = steps("%mixed");
  const std::string before = "    %z: FLOAT[batch, 6]";
  text.insert(text.find(before), "    %mixed: FLOAT[1, 6] = max(%w; axis=(0), keep=true)\n");
  const Program program = compile(ir::parse(text, "network"), {});
  expect_what_the_cpu_computes(program, 7);
  EXPECT_EQ(loop_of(program, 7), nullptr);
}

TEST_F(RowLoops, AreNoneWhereABlockHasNoRoomForItsRows) {
  if (!tests::is_emulated()) GTEST_SKIP() << "a GPU has room";
  const Program program = compile(ir::parse(steps("%d"), "network"), {});
  EXPECT_EQ(loop_of(program, 20000), nullptr);
}

// Every op of ops/index/moves.def, in a loop with a reduction, which can only be divided by rows.
TEST_F(RowLoops, MoveElements) {
  const char* const text = R"(graph "network" {
  input %x: FLOAT[time, batch, 6]
  input %places: INT32[time, batch]
  input %E: FLOAT[5, 6]
  %h0: FLOAT[batch, 6] = full(; shape=[batch, 6], value=0.25, type="FLOAT")
  %end: FLOAT[batch, 6], %all: FLOAT[time, batch, 6] = scan(%h0, %x, %places, %E; states=1, each=2, steps=<time>) body "b" {
    input %h: FLOAT[batch, 6]
    input %x: FLOAT[batch, 6]
    input %place: INT32[batch]
    input %E: FLOAT[5, 6]
    input %step: INT32[]
    %m: FLOAT[batch, 1] = max(%h; axis=(-1), keep=true)
    %row: FLOAT[batch, 6] = gather(%E, %place)
    %picked: FLOAT[batch] = pick(%h, %place)
    %marked: FLOAT[batch, 6] = one_hot(%place; depth=<6>)
    %part: FLOAT[batch, 2] = slice(%h; axis=-1, begin=<1>, end=<3>)
    %padded: FLOAT[batch, 6] = pad(%part; axis=-1, begin=<2>, size=<6>)
    %third: FLOAT[batch] = index(%h; axis=-1, at=<2>)
    %masked: FLOAT[batch, 6] = mask(%h, %place; axis=1)
    %real: BOOL[batch, 6] = sequence_mask(%place; n=<6>, axis=-1)
    %last: FLOAT[batch] = last(%h, %place; axis=1)
    %back: FLOAT[batch, 6] = last_gradient(%last, %place; axis=1, size=<6>)
    %numbers: FLOAT[batch] = add(%picked, %third)
    %number: FLOAT[batch, 1] = expand(%numbers; axis=-1)
    %a: FLOAT[batch, 6] = add(%row, %marked)
    %b: FLOAT[batch, 6] = add(%padded, %masked)
    %c: FLOAT[batch, 6] = where(%real, %a, %b)
    %d: FLOAT[batch, 6] = add(%c, %back)
    %e: FLOAT[batch, 6] = add(%d, %number)
    %f: FLOAT[batch, 6] = add(%e, %m)
    %g: FLOAT[batch, 6] = add(%f, %x)
    %h1: FLOAT[batch, 6] = tanh(%g)
    output "h" = %h1
    output "all" = %g
  }
  output "end" = %end
  output "all" = %all
})";
  for (const std::vector<std::string>& disabled : {std::vector<std::string>{}, std::vector<std::string>{"fuse", "hoist"}}) {
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      CompileOptions options;
      options.disabled_passes = disabled, options.precision = precision;
      const Program program = compile(ir::parse(text, "network"), options);
      for (std::int64_t batch : {1, 7, 40}) {
        expect_what_the_cpu_computes(program, batch);
        const auto loop = loop_of(program, batch);
        ASSERT_NE(loop, nullptr);
        EXPECT_THAT(loop->describe(), HasSubstr("each block has its own rows of the batch"));
        EXPECT_THAT(loop->text(), HasSubstr("moves::element"));
      }
    }
  }
}

// As the separate kernel does: the error names the node, the index and its position.
TEST_F(RowLoops, RefuseABadIndex) {
  const Program program = compile(ir::parse(steps("%d"), "network"), {});
  ASSERT_NE(loop_of(program, 7), nullptr);
  for (const auto& [name, bad, said] : {std::tuple("words", 5, "gather: index 5"), std::tuple("words", -1, "gather: index -1"),
                                        std::tuple("places", 6, "pick: index 6")}) {
    Executable executable(program, std::make_shared<Variables>(), tests::tested_device());
    Feeds feeds = feeds_for(program, 7);
    feeds[name].data<std::int32_t>()[2 * 7 + 3] = bad;
    feeds[name] = executable.on_device(feeds[name]);
    try {
      executable.run(feeds);
      FAIL() << "nothing thrown";
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr(said));
      EXPECT_THAT(error.what(), HasSubstr("3"));
    }
    // The next run is not affected.
    EXPECT_NO_THROW(executable.run(feeds_for(program, 7)));
  }
}

}  // namespace
}  // namespace graphrun
