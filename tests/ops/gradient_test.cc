#include <gtest/gtest.h>

#include "compiler/ir/op.h"
#include "tests/ops/gradient_check.h"

namespace graphrun::tests {
namespace {

const Case& case_named(const std::string& name) {
  for (const Case& c : all_cases()) {
    if (c.full_name() == name) return c;
  }
  throw InternalError("no case " + name);
}

bool has_float(const Case& c) {
  for (const Tensor& t : c.inputs) {
    if (!t.empty() && t.dtype() == DType::kFloat64) return true;
  }
  return false;
}

TEST(Gradient, AgreesWithFiniteDifferences) {
  int checked = 0;
  for (const Case& c : all_cases()) {
    const ir::OpSchema& op = ir::OpRegistry::instance().get(c.op);
    if (c.large || !op.gradient || !has_float(c) || c.inputs[0].count() == 0) continue;
    EXPECT_EQ(gradient_fault(c), "");
    ++checked;
  }
  EXPECT_GT(checked, 150);
}

TEST(GradientCheck, FailsOnAGradientThatIsAThousandthOff) {
  for (const char* name : {"softmax/last axis by default", "sum/all", "gather/rows", "cross_entropy/rows", "mask/features"}) {
    EXPECT_EQ(gradient_fault(case_named(name)), "");
    EXPECT_NE(gradient_fault(case_named(name), 1.001), "") << name;
  }
}

TEST(GradientCheck, FailsOnAGradientThatIsZeroEverywhere) {
  EXPECT_NE(gradient_fault(case_named("sum/all"), 0), "");
  // All positions are padding: the gradient is zero, but the case does not say so.
  const Case nothing = CaseBuilder("sum", "no position counts").in(uniform({2, 3})).in(integers({3}, {0, 0, 0})).axes({0});
  EXPECT_NE(gradient_fault(nothing).find("zero everywhere"), std::string::npos);
  Case said = nothing;
  said.zero_gradient = {0};
  EXPECT_EQ(gradient_fault(said), "");
  Case wrongly_said = case_named("sum/all");
  wrongly_said.zero_gradient = {0};
  EXPECT_NE(gradient_fault(wrongly_said), "");
}

}  // namespace
}  // namespace graphrun::tests
