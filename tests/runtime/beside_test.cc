// Loops that run at the same time.
#include <gtest/gtest.h>

#include "runtime/binding.h"
#include "runtime/kept.h"
#include "tests/runtime/loops.h"

namespace graphrun {
namespace {

// Both directions of a layer, with a product of each one's inputs before it and a sum of both behind; `begin`: of the second.
std::string two_directions(const std::string& begin, const std::string& second_width = "150") {
  const auto loop = [](const std::string& name, const std::string& begin, const std::string& width,
                       const std::string& reverse) {
    return "%" + name + "_end: FLOAT[batch, " + width + "], %" + name + ": FLOAT[time, batch, " + width + "] = scan(" + begin +
           ", %p" + name + ", %U" + name + "; states=1, each=1, steps=<time>, reverse=" + reverse + R"() body "b" {
      input %h: FLOAT[batch, )" +
           width + R"(]
      input %x: FLOAT[batch, )" +
           width + R"(]
      input %U: FLOAT[)" +
           width + ", " + width + R"(]
      input %step: INT32[]
      %q = matmul(%h, %U)
      %f = sigmoid(%q)
      %r = mul(%f, %h)
      %c = matmul(%r, %U)
      %s = add(%x, %c)
      %t = tanh(%s)
      %h1 = add(%r, %t)
      output "h" = %h1
      output "y" = %t
    }
)";
  };
  return R"(graph "g" {
    input %x: FLOAT[time, batch, 150]
    input %Wa: FLOAT[150, 150]
    input %Ua: FLOAT[150, 150]
    input %Wb: FLOAT[150, )" +
         second_width + R"(]
    input %Ub: FLOAT[)" +
         second_width + ", " + second_width + R"(]
    %h0 = full(; shape=[batch, 150], value=0.1, type="FLOAT")
    %g0 = full(; shape=[batch, )" +
         second_width + R"(], value=0.2, type="FLOAT")
    %pa = matmul(%x, %Wa)
)" + loop("a", "%h0", "150", "false") +
         R"(    %sa = sum(%a)
    %pb = matmul(%x, %Wb)
)" + loop("b", begin, second_width, "true") +
         R"(    output "a" = %a
    output "b" = %b
    output "ends" = %a_end
    output "endb" = %b_end
    output "sum" = %sa
  })";
}

// How many loops each of the root's loops has beside it, for two threads. The memory of those must not overlap: whether threads
// would be at it at the same moment is chance.
std::vector<std::size_t> loops_beside(const std::string& text) {
  const Program program = compile(ir::parse(text, "team_test"));
  const int before = threads();
  set_threads(2);
  KeptStore store(program);
  const std::unique_ptr<Binding> binding = graphrun::bind(program, kSizes, Device::kCpu, store);
  set_threads(before);
  std::vector<std::size_t> out;
  const auto& instructions = binding->root.instructions;
  const auto place = [&](std::size_t i) { return binding->layout.regions[instructions[i].scan->body.index]; };
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (!instructions[i].scan) continue;
    out.push_back(instructions[i].beside);
    for (std::size_t k = 1; k <= instructions[i].beside; ++k) {
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
