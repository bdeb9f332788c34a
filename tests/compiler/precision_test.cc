// Products with precision='FLOAT32' stay in float32, whatever precision a job requests.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/execute/executable.h"
#include "tests/runtime/elman_loop.h"
#include "tests/same_bits.h"

namespace graphrun {
namespace {

using tests::same_bits;

// A loop and a product outside of it, each with one matrix whose products are exact and one whose are not.
std::string network(const std::string& precision) {
  const std::string own = precision.empty() ? "" : "; precision=\"" + precision + "\"";
  return R"(
graph "network" {
  input %x: FLOAT[time, batch, 40]
  input %h0: FLOAT[batch, 40]
  parameter %U: FLOAT[40, 40] = xavier(0.0)
  parameter %P: FLOAT[40, 70] = xavier(0.0)
  parameter %Q: FLOAT[40, 70] = xavier(0.0)
)" + tests::elman_loop("end", 40, false, own) +
         R"(  %exact = matmul(%end, %P)" + own + R"()
  %other = matmul(%end, %Q)
  %both = add(%exact, %other)
  %loss = sum(%both)
  output "exact" = %exact
  output "other" = %other
  output "loss" = %loss
})";
}

Tensor numbers(const Sizes& sizes, unsigned seed) {
  Tensor t(DType::kFloat32, sizes);
  for (float& x : t.span<float>()) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 20) / 4096 - 0.5f;
  }
  return t;
}

std::vector<Tensor> results(const std::string& precision, const Target& target, std::int64_t batch) {
  CompileOptions options;
  options.fetches = {"exact", "other"};
  auto variables = std::make_shared<Variables>();
  Executable executable(compile(ir::parse(network(precision), "network"), options), variables, target);
  initialize(executable.program(), *variables, 5);
  return executable.run({{"x", numbers({9, batch, 40}, 1)}, {"h0", numbers({batch, 40}, 2)}});
}

TEST(OwnPrecision, IsFloat32WhateverAJobAsksFor) {
  for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{3}, std::int64_t{200}}) {
    const std::vector<Tensor> expected = results("FLOAT32", {}, batch);
    EXPECT_TRUE(same_bits(results("", {}, batch)[0], expected[0]));
    for (const WeightForm weights : {WeightForm::kFloat32, WeightForm::kBFloat16, WeightForm::kInt8}) {
      for (const ProductPrecision products : {ProductPrecision::kFloat32, ProductPrecision::kBFloat16}) {
        const Target target(cpu_device(), weights, products);
        const std::vector<Tensor> found = results("FLOAT32", target, batch);
        EXPECT_TRUE(same_bits(found[0], expected[0])) << batch;
        if (weights == WeightForm::kFloat32) continue;
        // The others are rounded; and so is this one, if it does not say so.
        EXPECT_FALSE(same_bits(found[1], expected[1])) << batch;
        EXPECT_FALSE(same_bits(results("", target, batch)[0], expected[0])) << batch;
      }
    }
  }
}

// Products of the parameter U beside those of W, which is computed from parameters: with a common left factor, added up, and in
// a loop.
constexpr const char* kBesideComputed = R"(
graph "network" {
  input %x: FLOAT[batch, 40]
  parameter %U: FLOAT[40, 40] = xavier(0.0)
  parameter %V: FLOAT[40, 40] = xavier(0.0)
  parameter %g: FLOAT[40] = uniform(0.1)
  %W = mul(%V, %g)
  %a = matmul(%x, %U)
  %b = matmul(%x, %W)
  %r = tanh(%x)
  %p = matmul(%r, %U)
  %q = matmul(%x, %W)
  %sum = add(%p, %q)
  %end: FLOAT[batch, 40] = scan(%x, %U, %W; states=1, each=0, steps=5, reverse=false) body "loop" {
    input %s: FLOAT[batch, 40]
    input %U: FLOAT[40, 40]
    input %W: FLOAT[40, 40]
    input %step: INT32[]
    %u = matmul(%s, %U)
    %w = matmul(%s, %W)
    %z = sub(%u, %w)
    %next = tanh(%z)
    output "s" = %next
  }
  output "a" = %a
  output "b" = %b
  output "sum" = %sum
  output "end" = %end
})";

std::vector<Tensor> beside_computed(std::vector<std::string> fetches, WeightForm weights) {
  CompileOptions options;
  options.fetches = std::move(fetches);
  auto variables = std::make_shared<Variables>();
  const Target target(cpu_device(), weights, ProductPrecision::kFloat32);
  Executable executable(compile(ir::parse(kBesideComputed, "network"), options), variables, target);
  initialize(executable.program(), *variables, 5);
  return executable.run({{"x", numbers({3, 40}, 1)}});
}

TEST(RoundedWeights, AreRoundedBesideAComputedMatrix) {
  for (const WeightForm weights : {WeightForm::kBFloat16, WeightForm::kInt8}) {
    const Tensor alone = beside_computed({"a"}, weights)[0];
    EXPECT_FALSE(same_bits(alone, beside_computed({"a"}, WeightForm::kFloat32)[0]));
    const std::vector<Tensor> both = beside_computed({"a", "b"}, weights),
                              exact = beside_computed({"a", "b"}, WeightForm::kFloat32);
    EXPECT_TRUE(same_bits(both[0], alone));
    EXPECT_TRUE(same_bits(both[1], exact[1]));  // a computed matrix is not a weight
    for (const char* name : {"sum", "end"}) {
      EXPECT_FALSE(same_bits(beside_computed({name}, weights)[0], beside_computed({name}, WeightForm::kFloat32)[0])) << name;
    }
  }
}

TEST(OwnPrecision, IsThatOfTheGradientsToo) {
  for (const std::string precision : {"", "FLOAT32"}) {
    TrainOptions train;
    train.minimize = "loss";
    const Program program = compile(ir::parse(network(precision), "network"), {}, &train);
    std::multiset<std::string> found;
    for (const Region& region : program.regions) {
      for (const Instruction& i : region.instructions) {
        if (i.op.rfind("matmul", 0) == 0) found.insert(i.attributes.string("precision"));
      }
    }
    // Three of each matrix, forward and by both factors. Those of the two matrices outside the loop merge if nothing differs.
    EXPECT_EQ(found.count("FLOAT32"), precision.empty() ? 0u : 6u);
    EXPECT_EQ(found.count(""), precision.empty() ? 6u : 3u);
  }
}

}  // namespace
}  // namespace graphrun
