// Reduces the results of a tile program piece by piece, while each piece is in the first-level cache.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/ir/fold.h"
#include "ops/axis.h"
#include "ops/tiles/tile_program.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// Reduces results of the program, which is made for pieces, along the axis of `view`, the view of its shape of `rank` axes;
// result i of the kernel belongs to folds[i]. `dtype` is the float type that is reduced. If the request has one input more than
// the program, it is the lengths: positions at or beyond them do not count, and are not computed.
Kernel piecewise_kernel(const KernelRequest& request, std::shared_ptr<const TileProgram> program, const AxisView& view,
                        std::vector<ir::Fold> folds, DType dtype, std::size_t rank);

}  // namespace graphrun
