// Common sequence rules (compiler/ir/sequence.h), for ops that treat all leading axes alike.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "compiler/ir/sequence.h"

namespace graphrun {

// Applies the op unchanged to sequences, because it only looks at trailing axes, or at each element. `shared` operands must be
// the same at every step and are passed without the step axis (gather's table, layer_norm's gain).
ir::SequenceRule over_leading_axes(std::initializer_list<std::size_t> shared = {});
// The same, for an op whose attribute `axis` names axes of its operands (an INT or a list of them; an empty list means all
// axes).
ir::SequenceRule over_leading_axes_with_axis();
// Elementwise over operands that broadcast.
ir::SequenceRule over_broadcast_operands();

}  // namespace graphrun
