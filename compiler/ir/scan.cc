// The scan, the only control structure, has a schema, so that its nodes print, parse and verify like any other. Its shape rule
// is in the verifier and its gradient in the differentiator, because both need to inspect the body.
#include "compiler/ir/op.h"

namespace graphrun::ir {
namespace {

OpSchema scan_schema() {
  OpSchema s;
  s.name = "scan";
  s.family = "control";
  s.doc =
      "Runs its body once for each step of its sequences; the body's states go from one step to the next. Written in the "
      "language\n"
      "as scan { … }; compiler/ir/graph.h gives the order of its operands and results.";
  s.inputs = {{"operands", "states' begins, sequences [steps, …], then what is the same at every step", true, true}};
  s.outputs = {"ends and stacked outputs"};
  s.attributes = {{"states", AttributeKind::kInt, std::nullopt, "how many states"},
                  {"each", AttributeKind::kInt, std::nullopt, "how many sequences"},
                  {"steps", AttributeKind::kDim, std::nullopt, "how many steps"},
                  {"reverse", AttributeKind::kBool, Attribute(false), "from the last step to the first"}};
  s.infer = [](InferContext&) { throw InternalError("scan: built by Builder::scan alone"); };
  s.no_gradient = "the differentiator rewrites its body";
  s.internal = true;
  s.role = Role::kScan;
  return s;
}

const bool registered = [] {
  OpRegistry::instance().add(scan_schema());
  return true;
}();

}  // namespace
}  // namespace graphrun::ir
