// Loops that run at the same time.
#include <gtest/gtest.h>

#include "runtime/execute/binding.h"
#include "runtime/execute/packed_weights.h"
#include "tests/runtime/loops.h"
#include "tests/runtime/two_directions.h"

namespace graphrun {
namespace {

// For each of the root's loops, how many others run concurrently with it, with two threads. Their memory must not overlap,
// although whether threads would actually access it at the same moment is chance.
std::vector<std::size_t> loops_beside(const std::string& text) {
  const Program program = compile(ir::parse(text, "loops"));
  const int before = threads();
  set_threads(2);
  PackedWeightsStore store(program);
  const std::unique_ptr<Binding> binding = graphrun::bind(program, kSizes, cpu_device(), store);
  set_threads(before);
  std::vector<std::size_t> out;
  const auto& instructions = binding->root.instructions;
  const auto place = [&](std::size_t i) { return binding->layout.regions[instructions[i].scan->body.index]; };
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (!instructions[i].scan) continue;
    out.push_back(instructions[i].concurrent);
    for (std::size_t k = 1; k <= instructions[i].concurrent; ++k) {
      const auto a = place(i), b = place(i + k);
      EXPECT_TRUE(a.base + a.bytes <= b.base || b.base + b.bytes <= a.base);
    }
  }
  return out;
}

TEST_F(Loops, OfBothDirectionsRunAtTheSameTime) {
  check(two_directions("%g0"));
  EXPECT_EQ(loops_beside(two_directions("%g0")), (std::vector<std::size_t>{1, 0}));
}

// The end of the second does not overwrite the initial value of the first.
TEST_F(Loops, OfBothDirectionsThatBeginWithTheSameRunAtTheSameTime) {
  check(two_directions("%h0"));
  EXPECT_EQ(loops_beside(two_directions("%h0")), (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(loops_beside(two_directions("%h0", "150", false)), (std::vector<std::size_t>{1, 0})) << "an end that nobody reads";
}

TEST_F(Loops, OfWhichOneNeedsTheOtherRunInTurn) {
  check(two_directions("%a_end"));
  EXPECT_EQ(loops_beside(two_directions("%a_end")), (std::vector<std::size_t>{0, 0}));
}

TEST_F(Loops, OfUnequalWorkRunInTurn) {
  check(two_directions("%g0", "64"));
  EXPECT_EQ(loops_beside(two_directions("%g0", "64")), (std::vector<std::size_t>{0, 0}));
}

}  // namespace
}  // namespace graphrun
