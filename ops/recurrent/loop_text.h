// The text of a kernel that runs all steps of a scan as one launch, and what that launch brings, from its plan
// (ops/recurrent/loop_plan.h). What is part of the text: the instructions, their order and types, where blocks wait and what
// they pass, and of products on matrix units how many tiles a warp has at a time; sizes come with the launch.
#pragma once

#include <optional>
#include <vector>

#include "ops/generated/device_code.h"
#include "ops/recurrent/element_text.h"
#include "ops/recurrent/loop_plan.h"

namespace graphrun {

struct LoopText : DeviceText {
  // What a launch brings, and which of it the plan does not know: where the operands are, what blocks synchronize on.
  ArgumentLayout arguments;
  Argument places, counter;
  Argument fault;  // where faults are recorded, if `records_faults`
  bool records_faults = false;
  struct MemberArguments {
    Argument part, wide;  // of pointwise work: its code's arguments; whether packs of four are aligned
    // Of what makes each element by itself, and what a fault names it by.
    std::optional<ElementText> element = std::nullopt;
    Argument node = {};
  };
  std::vector<MemberArguments> members;
};

LoopText loop_text(const LoopPlan& plan);
// That text with comments that quote the equations.
std::string commented_loop_text(const LoopPlan& plan);

}  // namespace graphrun
