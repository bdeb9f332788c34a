// Positions of an axis by their numbers: gather, along any axis.
#pragma once

#include <cstddef>

#include "compiler/ir/builder.h"

namespace graphrun {

// `value` with the positions of an axis that `rows`, INT32 [n], names, in its order. What stands behind the axis is moved in
// one piece. With axis > 0 the places among all positions are computed in INT32: there must be fewer than 2³¹ of them.
ir::ValueId with_rows(ir::Builder& b, ir::ValueId value, std::size_t axis, ir::ValueId rows);

}  // namespace graphrun
