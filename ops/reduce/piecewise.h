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

struct ReducedInputs {
  std::size_t rank;  // of the program's shape
  // The index of the input that holds the lengths; the number of inputs if there are none. Positions at or beyond the lengths
  // do not count, and are not computed.
  std::size_t lengths;
};

// Reduces results of the program, which is made for pieces, along the axis of `view`, a view of its shape; result i of the
// kernel belongs to folds[i]. `dtype` is the float type that is reduced.
Kernel piecewise_kernel(const KernelRequest& request, std::shared_ptr<const TileProgram> program, const AxisView& view,
                        std::vector<ir::Fold> folds, DType dtype, const ReducedInputs& inputs);

}  // namespace graphrun
