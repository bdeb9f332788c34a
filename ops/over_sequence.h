// The usual sequence rules (compiler/ir/sequence.h): for ops that treat leading axes alike.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "compiler/ir/sequence.h"

namespace graphrun {

// The op as it stands, on sequences: it looks at trailing axes alone, or at each element. `shared` operands must be the same at
// every step and stay without steps (gather's table, layer_norm's gain).
ir::SequenceRule over_leading_axes(std::initializer_list<std::size_t> shared = {});
// The same for an op whose attribute `axis` counts axes of its operands (an INT or a list of them; an empty list is all axes).
ir::SequenceRule over_leading_axes_with_axis();
// Element by element over operands that broadcast.
ir::SequenceRule over_broadcast_operands();

}  // namespace graphrun
