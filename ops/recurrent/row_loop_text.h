// The text of a kernel that runs all steps of a scan as one launch whose blocks have rows of their own, and what that launch
// brings, from its plan (ops/recurrent/row_loop_plan.h). Sizes come with the launch, but for those of what lies in a block's
// memory.
#pragma once

#include <string>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/recurrent/element_text.h"
#include "ops/recurrent/row_loop_plan.h"

namespace graphrun {

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
