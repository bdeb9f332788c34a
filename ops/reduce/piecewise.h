// Reductions of what a tile program makes, piece by piece, while a piece is in the first-level cache.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "ops/axis.h"
#include "ops/tiles/tile_program.h"
#include "runtime/program/kernel.h"

namespace graphrun {

enum class FoldKind : std::uint8_t { kSum, kMean, kMax, kMin, kLogSumExp, kArgMax, kArgMin };
// Of the reduction's op; throws InternalError where it is none of these.
FoldKind fold_kind(std::string_view op);

struct PieceFold {
  FoldKind kind = FoldKind::kSum;
  std::size_t result = 0;  // of the program: what is reduced
};

// Reduces results of the program, made for pieces, around the axes of `view`, its shape, of `rank` axes; result i of the kernel
// is folds[i]'s. `dtype` is the float that is reduced.
Kernel piecewise_kernel(const KernelRequest& request, std::shared_ptr<const TileProgram> program, const AxisView& view,
                        std::vector<PieceFold> folds, DType dtype, std::size_t rank);

}  // namespace graphrun
