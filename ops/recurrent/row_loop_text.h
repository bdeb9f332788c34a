// The text of a kernel that runs all steps of a scan as one launch whose blocks have rows of their own, and what that launch
// brings, from its plan (ops/recurrent/row_loop_plan.h). Sizes come with the launch, but for those of what lies in a block's
// memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/recurrent/row_loop_plan.h"

namespace graphrun {

// What an instruction of such a loop is in the text, in a namespace of its own: a struct Arguments, with the addresses
// of inputs and outputs, and one(const Arguments&, std::int64_t e, Fault fault), which makes element e of every result.
struct ElementText {
  std::string text;
  std::vector<std::string> inputs, outputs;          // names of the addresses
  ArgumentLayout arguments;                          // all known before a launch but the draws of `code`
  std::shared_ptr<const DeviceCode> code = nullptr;  // of pointwise work, else null
};

struct RowLoopText : DeviceText {
  // What a launch brings, and which of it is not known before: where the operands are, where faults are recorded.
  ArgumentLayout arguments;
  Argument places, fault;
  struct RowMemberText {
    ElementText element;
    Argument part, node;  // element's arguments; what a fault names the instruction by
  };
  std::vector<RowMemberText> members;
};

RowLoopText row_loop_text(const RowLoopPlan& plan);
// That text with comments that quote the equations.
std::string commented_row_loop_text(const RowLoopPlan& plan);

}  // namespace graphrun
