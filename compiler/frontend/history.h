// The axis of a history: its buffer has space for all steps, but only those up to the current step exist yet. So an operator
// along that axis stops at the present, or it is refused.
#pragma once

#include <cstddef>

#include "compiler/frontend/meaning.h"
#include "compiler/frontend/region.h"
#include "compiler/ir/operand.h"

namespace graphrun::frontend {

// The region around this one, or itself, whose histories have this size; null: none.
Region* with_history(Region& region, const Dim& size);

// The number of steps so far of `around`, a scan's body at `region` or around it: INT32[] in `region`.
ir::ValueId steps_so_far(Region& region, Region& around);

// Limits `lengths` of an op along the axis of a history to the steps so far; adds them if they are absent.
void stop_at_present(const ir::OpSchema& op, std::vector<ir::Operand>& operands, ir::NamedOperands& named, Region& region,
                     const Location& at);

// Fails (E0252) if one of the region's nodes from `first` on reads later steps than the current one: if it reduces, indexes,
// cuts or rearranges the axis of a history and has no `lengths` to stop it. A product may sum over that axis if one operand is
// zero in later steps, as a softmax is.
void check_present(Region& region, std::size_t first, const Location& at);

}  // namespace graphrun::frontend
