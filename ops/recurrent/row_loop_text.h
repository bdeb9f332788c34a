// The text of a kernel that runs all steps of a scan as one launch whose blocks have rows of their own, and the arguments of
// the launch, from its plan (ops/recurrent/row_loop_plan.h). The number of rows is an argument, and so is every size that may
// differ from batch to batch, so that one text serves all batches. The other sizes are constants, by which the compiler divides
// cheaply and unrolls loops.
#pragma once

#include <string>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/recurrent/element_text.h"
#include "ops/recurrent/row_loop_plan.h"

namespace graphrun {

struct RowLoopText : DeviceText {
  // The arguments of a launch, and handles of those whose values the plan does not know: the addresses of operands, and where
  // faults are recorded.
  ArgumentLayout arguments;
  Argument places, fault;
  struct RowMemberText {
    ElementText element;
    Argument part, node;  // the element's arguments; the instruction's number in a fault
  };
  std::vector<RowMemberText> members;
};

RowLoopText row_loop_text(const RowLoopPlan& plan);
// The same text for people to read: with comments that quote the equations.
std::string commented_row_loop_text(const RowLoopPlan& plan);

}  // namespace graphrun
