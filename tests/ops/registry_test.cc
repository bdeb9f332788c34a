// Walks the registry, so that every op has documentation and checks.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "compiler/ir/op.h"
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
    EXPECT_NE(KernelRegistry::instance().find(op->name, Device::kCpu), nullptr) << op->name;
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
