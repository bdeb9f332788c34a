// What the blocks of a loop read of each other's results, in loops that are not cells: the numbers are compared with the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/execute/executable.h"
#include "tests/cuda/device.h"
#include "tests/cuda/loops.h"

namespace graphrun {
namespace {

void expect_numbers_of_the_cpu(const Program& program, const Feeds& feeds) {
  const auto run = [&](const Device& device) { return Executable(program, std::make_shared<Variables>(), device).run(feeds); };
  const std::vector<Tensor> expected = run(cpu_device()), found = run(tests::tested_device());
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(found[k].sizes(), expected[k].sizes());
    for (std::int64_t i = 0; i < found[k].count(); ++i) ASSERT_NEAR(found[k].at(i), expected[k].at(i), 1e-4) << k << " " << i;
  }
}

// Float32 products on matrix units, which take blocks of two warps.
class OnMatrixUnits {
 public:
  OnMatrixUnits() {
    if (tests::is_emulated()) tests::emulated_limits().threads = 64, tests::emulated_limits().splits_float32 = true;
  }
  ~OnMatrixUnits() {
    if (tests::is_emulated()) tests::emulated_limits() = before_;
  }

 private:
  const DeviceLimits before_ = tests::tested_device().backend().limits();
};

// The rows of its result are the product's, although the result has no axis of columns.
TEST(LoopReads, AProductWithAVector) {
  const Program program = compile(ir::parse(R"(graph "network" {
  input %x: FLOAT[time, batch, 12]
  input %U: FLOAT[12, 12]
  input %w: FLOAT[12]
  %h0: FLOAT[batch, 12] = full(; shape=[batch, 12], value=0.25, type="FLOAT")
  %end: FLOAT[batch, 12], %qs: FLOAT[time, batch] = scan(%h0, %x, %U, %w; states=1, each=1, steps=<time>) body "b" {
    input %h: FLOAT[batch, 12]
    input %x: FLOAT[batch, 12]
    input %U: FLOAT[12, 12]
    input %w: FLOAT[12]
    input %step: INT32[]
    %q: FLOAT[batch] = matmul(%h, %w)
    %g: FLOAT[batch] = sigmoid(%q)
    %gate: FLOAT[batch, 1] = reshape(%g; shape=[batch, 1])
    %u = matmul(%h, %U)
    %s = add(%u, %x)
    %t = tanh(%s)
    %h1 = mul(%t, %gate)
    output "h" = %h1
    output "qs" = %q
  }
  output "end" = %end
  output "qs" = %qs
})",
                                            "network"),
                                  {});
  const ByColumns by_columns;
  for (const bool on_units : {false, true}) {
    std::optional<OnMatrixUnits> units;
    if (on_units) units.emplace();
    for (const std::int64_t batch : {1, 5}) {
      const SymbolValues symbols = symbols_of(4, batch);
      expect_numbers_of_the_cpu(program, random_feeds(program, symbols, Precision::kFloat32, 5));
      EXPECT_EQ(loops_of(program, symbols).size(), 1u);
    }
  }
}

// Two states that are one from the first step on: each product reads its own state's beginning.
TEST(LoopReads, StatesWithOneNextValueAndTwoBeginnings) {
  const Program program = compile(ir::parse(R"(graph "network" {
  input %x: FLOAT[time, batch, 40]
  input %h0: FLOAT[batch, 40]
  input %g0: FLOAT[batch, 40]
  input %U: FLOAT[40, 40]
  input %V: FLOAT[40, 40]
  %h_end: FLOAT[batch, 40], %g_end: FLOAT[batch, 40], %all: FLOAT[time, batch, 40] = scan(%h0, %g0, %x, %U, %V; states=2, each=1, steps=<time>) body "b" {
    input %h: FLOAT[batch, 40]
    input %g: FLOAT[batch, 40]
    input %x: FLOAT[batch, 40]
    input %U: FLOAT[40, 40]
    input %V: FLOAT[40, 40]
    input %step: INT32[]
    %u = matmul(%h, %U)
    %v = matmul(%g, %V)
    %s = add(%u, %x)
    %t = add(%s, %v)
    %y = tanh(%t)
    output "h" = %y
    output "g" = %y
    output "all" = %y
  }
  output "all" = %all
})",
                                            "network"),
                                  {});
  const SymbolValues symbols = symbols_of(3, 5);
  Feeds feeds = random_feeds(program, symbols, Precision::kFloat32, 5);
  scale(feeds, 0.3f);
  const ByColumns by_columns;
  for (const bool in_clusters : {false, true}) {
    for (const bool on_units : {false, true}) {
      std::optional<WithClusters> clusters;
      if (in_clusters) clusters.emplace();
      std::optional<OnMatrixUnits> units;
      if (on_units) units.emplace();
      expect_numbers_of_the_cpu(program, feeds);
      const std::vector<LoopKernel::Traits> loops = loops_of(program, symbols);
      ASSERT_EQ(loops.size(), 1u);
      if (tests::is_emulated()) {
        EXPECT_EQ(loops[0].in_clusters, in_clusters);
      }
    }
  }
}

// Rows that a step looks up in a state may be those of any block, which therefore have no rows of their own.
TEST(LoopReads, RowsThatAreLookedUpInAState) {
  const Program program = compile(ir::parse(R"(graph "network" {
  input %x: FLOAT[time, batch, 40]
  input %rows: INT32[time, batch]
  input %U: FLOAT[40, 40]
  %h0: FLOAT[batch, 40] = zeros(; shape=[batch, 40])
  %end: FLOAT[batch, 40] = scan(%h0, %x, %rows, %U; states=1, each=2, steps=<time>) body "b" {
    input %h: FLOAT[batch, 40]
    input %x: FLOAT[batch, 40]
    input %row: INT32[batch]
    input %U: FLOAT[40, 40]
    input %step: INT32[]
    %g = gather(%h, %row)
    %u = matmul(%g, %U)
    %s = add(%u, %x)
    %h1 = tanh(%s)
    output "h" = %h1
  }
  output "end" = %end
})",
                                            "network"),
                                  {});
  const ByColumns by_columns;
  const auto expect_together = [&](std::int64_t batch) {
    const SymbolValues symbols = symbols_of(6, batch);
    Feeds feeds = random_feeds(program, symbols, Precision::kFloat32, 5);
    Tensor rows(DType::kInt32, {6, batch});
    for (std::int64_t i = 0; i < rows.count(); ++i) rows.data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7 % batch);
    feeds["rows"] = rows;
    expect_numbers_of_the_cpu(program, feeds);
    const std::vector<LoopKernel::Traits> loops = loops_of(program, symbols);
    ASSERT_EQ(loops.size(), 1u);
    EXPECT_FALSE(loops[0].in_clusters);
    EXPECT_EQ(loops[0].row_parts, 1);
  };
  {
    const WithClusters clusters;
    expect_together(5);
  }
  const OnMatrixUnits units;
  if (tests::is_emulated()) tests::emulated_limits().multiprocessors = 6;
  expect_together(70);  // five tiles of rows
}

// A step whose results have several widths and reuse the same memory: if divided by rows, they would overlap.
TEST(LoopClusters, LeaveAloneRowsThatDoNotKeepApart) {
  const auto graph = [](const std::string& first, const std::string& second) {
    const std::string parameters = "input %U: FLOAT[64, 64]\n input %V: FLOAT[64, " + first + "]\n input %W: FLOAT[" + first +
                                   ", " + second + "]\n input %X: FLOAT[" + second + ", 64]\n";
    return "graph \"network\" {\n input %x: FLOAT[time, batch, 64]\n" + parameters + R"(
  %h0: FLOAT[batch, 64] = zeros(; shape=[batch, 64])
  %end: FLOAT[batch, 64] = scan(%h0, %x, %U, %V, %W, %X; states=1, each=1, steps=<time>) body "b" {
    input %h: FLOAT[batch, 64]
    input %x: FLOAT[batch, 64]
    )" + parameters +
           R"(
    input %step: INT32[]
    %a = matmul(%h, %U)
    %b = tanh(%a)
    %c = matmul(%b, %V)
    %d = sigmoid(%c)
    %e = matmul(%d, %W)
    %f = sigmoid(%e)
    %g = matmul(%f, %X)
    %h1 = add(%g, %x)
    output "h" = %h1
  }
  output "end" = %end
})";
  };
  for (const bool apart : {false, true}) {
    const Program program = compile(ir::parse(apart ? graph("64", "64") : graph("16", "32"), "network"), {});
    const SymbolValues symbols = symbols_of(6, 6);
    Feeds feeds = random_feeds(program, symbols, Precision::kFloat32, 5);
    scale(feeds, 0.3f);
    const ByColumns by_columns;
    const WithClusters clusters;
    expect_numbers_of_the_cpu(program, feeds);
    const std::vector<LoopKernel::Traits> loops = loops_of(program, symbols);
    ASSERT_EQ(loops.size(), 1u);
    const bool has_clusters = tests::tested_device().backend().limits().clusters[0] > 0;
    if (tests::is_emulated()) {
      EXPECT_EQ(loops[0].in_clusters, apart && has_clusters);
    }
  }
}

}  // namespace
}  // namespace graphrun
