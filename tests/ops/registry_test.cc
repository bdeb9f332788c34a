// Walks the registry, so that every op has documentation and checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/op.h"
#include "runtime/device/device.h"
#include "runtime/program/kernel.h"
#include "tests/ops/reference.h"

namespace graphrun::tests {
namespace {

// Nodes with regions: the executor runs their bodies, and has its own tests for them.
bool has_region(const ir::OpSchema& op) { return op.name == "scan"; }

std::set<std::string> ops_with_cases() {
  std::set<std::string> names;
  for (const Case& c : all_cases()) names.insert(c.op);
  return names;
}

// The ops of the library; tests register their own in the family "test".
std::vector<const ir::OpSchema*> library_ops() {
  std::vector<const ir::OpSchema*> ops = ir::OpRegistry::instance().all();
  std::erase_if(ops, [](const ir::OpSchema* op) { return op->family == "test"; });
  return ops;
}

TEST(OpRegistry, EveryOpHasACaseAndAReference) {
  const std::set<std::string> covered = ops_with_cases();
  for (const ir::OpSchema* op : library_ops()) {
    if (has_region(*op)) continue;
    EXPECT_TRUE(covered.count(op->name)) << op->name << " has no case: add one to tests/ops/cases_*.cc";
    EXPECT_NE(reference_of(op->name), nullptr) << op->name << " has no reference: add one to tests/ops/reference_*.cc";
  }
}

TEST(OpRegistry, EveryCaseIsOfAnOpAndHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const Case& c : all_cases()) {
    EXPECT_NE(ir::OpRegistry::instance().find(c.op), nullptr) << c.op;
    EXPECT_TRUE(names.insert(c.full_name()).second) << c.full_name() << " stands twice";
  }
}

TEST(OpRegistry, EveryOpHasACpuKernelOrIsAView) {
  for (const ir::OpSchema* op : library_ops()) {
    if (has_region(*op) || op->view) continue;
    EXPECT_NE(cpu_device().kernels().find(op->name), nullptr) << op->name;
  }
}

TEST(OpRegistry, EveryOpIsDocumented) {
  for (const ir::OpSchema* op : library_ops()) {
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_FALSE(op->family.empty()) << op->name;
    EXPECT_TRUE(op->infer != nullptr || has_region(*op)) << op->name << " has no shape rule";
    EXPECT_TRUE(op->internal || op->update || has_region(*op) || op->doc.find("let: \"") != std::string::npos)
        << op->name << ": no example equation";
    for (const ir::InputSpec& input : op->inputs) EXPECT_FALSE(input.doc.empty()) << op->name << ", input " << input.name;
    for (const ir::AttributeSpec& a : op->attributes) EXPECT_FALSE(a.doc.empty()) << op->name << ", attribute " << a.name;
  }
}

TEST(OpRegistry, EveryOpHasAGradientOrSaysWhyNot) {
  for (const ir::OpSchema* op : library_ops()) {
    if (has_region(*op)) continue;
    EXPECT_NE(op->gradient != nullptr, !op->no_gradient.empty()) << op->name << " must have one of the two";
  }
}

// What compiler/ir/roles.h promises to passes of the ops that play a role: the number of operands that are not optional, these
// attributes.
struct Contract {
  std::size_t operands;
  std::vector<const char*> attributes;
};

const std::map<ir::Role, Contract>& contracts() {
  using ir::Role;
  static const std::map<Role, Contract> all = {
      {Role::kNumber, {0, {"value"}}},
      {Role::kZeros, {0, {}}},
      {Role::kSize, {0, {"size"}}},
      {Role::kRange, {0, {"n"}}},
      {Role::kAdd, {2, {}}},
      {Role::kSubtract, {2, {}}},
      {Role::kMultiply, {2, {}}},
      {Role::kPower, {2, {}}},
      {Role::kNegate, {1, {}}},
      {Role::kMinimum, {2, {}}},
      {Role::kEqual, {2, {}}},
      {Role::kNotEqual, {2, {}}},
      {Role::kLess, {2, {}}},
      {Role::kNot, {1, {}}},
      {Role::kSelect, {3, {}}},
      {Role::kCast, {1, {"type"}}},
      {Role::kDraw, {1, {"rate", "key"}}},
      {Role::kReshape, {1, {"shape"}}},
      {Role::kExpand, {1, {"axis"}}},
      {Role::kTranspose, {1, {"permutation"}}},
      {Role::kBroadcast, {1, {"shape"}}},
      {Role::kSumTo, {1, {"shape"}}},
      {Role::kSlice, {1, {"axis", "begin", "end"}}},
      {Role::kIndex, {1, {"axis", "at"}}},
      {Role::kPad, {1, {"axis", "begin", "size"}}},
      {Role::kPut, {3, {}}},
      {Role::kSplit, {1, {"parts", "axis"}}},
      {Role::kStopGradient, {1, {}}},
      {Role::kMatmul, {2, {"transpose_a", "transpose_b"}}},
      {Role::kMatmulReduce, {2, {}}},
      {Role::kLogsumexp, {1, {"axis", "keep"}}},
      {Role::kCrossEntropy, {2, {}}},
      {Role::kCrossEntropyGradient, {4, {}}},
  };
  return all;
}

TEST(OpRegistry, OpsAreWhatTheirRolePromises) {
  std::set<ir::Role> played;
  for (const ir::OpSchema* op : library_ops()) {
    played.insert(op->role);
    const bool part = op->role == ir::Role::kSlice || op->role == ir::Role::kIndex || op->role == ir::Role::kPad;
    EXPECT_EQ(op->window != nullptr, part) << op->name;
    const auto contract = contracts().find(op->role);
    if (contract == contracts().end()) continue;
    const auto needed = std::count_if(op->inputs.begin(), op->inputs.end(), [](const ir::InputSpec& i) { return !i.optional; });
    EXPECT_EQ(static_cast<std::size_t>(needed), contract->second.operands) << op->name;
    for (const char* name : contract->second.attributes) EXPECT_NE(op->attribute(name), nullptr) << op->name << ": " << name;
  }
  for (const auto& [role, contract] : contracts())
    EXPECT_TRUE(played.count(role)) << static_cast<int>(role) << " is played by none";
}

TEST(OpRegistry, AlgebraIsOfOpsOfOneOrTwoOperands) {
  for (const ir::OpSchema* op : library_ops()) {
    const ir::Algebra& a = op->algebra;
    if (a.involution || a.even) {
      EXPECT_EQ(op->inputs.size(), 1u) << op->name;
    }
    if (a.left_neutral || a.right_neutral || a.absorbing) {
      EXPECT_EQ(op->inputs.size(), 2u) << op->name;
    }
  }
}

TEST(OpRegistry, InPlacePairsNameOperandsThatExist) {
  for (const ir::OpSchema* op : library_ops()) {
    for (const auto& [output, input] : op->in_place) {
      EXPECT_LT(output, static_cast<int>(op->outputs.size())) << op->name;
      EXPECT_LT(input, static_cast<int>(op->inputs.size())) << op->name;
    }
  }
}

}  // namespace
}  // namespace graphrun::tests
