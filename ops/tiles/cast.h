// The conversion of element types as a tile, for programs of several pointwise ops.
#pragma once

#include "ops/tiles/tiles.h"

namespace graphrun {

PointwiseTile cast_tile(DType from, DType to);

}  // namespace graphrun
