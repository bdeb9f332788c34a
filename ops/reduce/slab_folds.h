// Pointwise work reduced down the middle of [outer, n, inner] by one machine code (ops/tiles/fold_code.h), which lays
// nothing of it down.
#pragma once

#include <memory>
#include <vector>

#include "ops/axis_view.h"
#include "ops/tiles/fold_code.h"
#include "ops/tiles/tile_program.h"
#include "runtime/program/kernel.h"

namespace graphrun {

class SlabFolds {
 public:
  // Null where there is no code, or where operands do not lie as it reads them.
  static std::unique_ptr<const SlabFolds> of(const TileProgram& program, const AxisView& view,
                                             const std::vector<FoldCode::Fold>& folds);

  // Columns [begin, begin + width) of a slab [n, inner], into the kernel's results. False where a greatest or least met what is
  // not a number: then they are to be made in another way.
  bool run(const KernelContext& c, std::int64_t outer, std::int64_t begin, std::int64_t width) const;

 private:
  SlabFolds(std::shared_ptr<const FoldCode> code, TileAxes axes, std::vector<std::size_t> elements);

  std::shared_ptr<const FoldCode> code_;
  TileAxes axes_;                      // the last two those of a slab
  std::vector<std::size_t> elements_;  // bytes of an element, by operand
  std::vector<std::int64_t> strides_;  // bytes from row to row, by operand
};

}  // namespace graphrun
