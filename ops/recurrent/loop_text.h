// The text of a kernel that runs all steps of a scan as one launch, and the arguments of the launch, from its plan
// (ops/recurrent/loop_plan.h). The text contains the instructions, their order and types, the barriers, what blocks pass and,
// for products on matrix units, how many tiles a warp computes at a time. Sizes are arguments or, in loops with large weights,
// constants (LoopPlan::has_constant_sizes).
#pragma once

#include <optional>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/recurrent/element_text.h"
#include "ops/recurrent/loop_plan.h"

namespace graphrun {

struct LoopText : DeviceText {
  // The arguments of a launch, and handles of those whose values the plan does not know: the addresses of operands, the memory
  // for barriers.
  ArgumentLayout arguments;
  Argument places, counter;
  Argument fault;  // where faults are recorded, if `records_faults`
  bool records_faults = false;
  struct MemberArguments {
    Argument part, wide;  // for pointwise work: the arguments of its code; whether packs of four are aligned
    // For an instruction that computes elements independently: its text, and its name in a fault.
    std::optional<ElementText> element = std::nullopt;
    Argument node = {};
  };
  std::vector<MemberArguments> members;
};

LoopText loop_text(const LoopPlan& plan);
// The same text for people to read: with comments that quote the equations.
std::string commented_loop_text(const LoopPlan& plan);

}  // namespace graphrun
