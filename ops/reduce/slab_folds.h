// Reduces pointwise results down the middle of [outer, n, inner] with one piece of machine code (ops/tiles/fold_code.h),
// without storing them.
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
  // Null if there is no code, or if the operands' layout does not suit it.
  static std::unique_ptr<const SlabFolds> of(const TileProgram& program, const AxisView& view,
                                             const std::vector<ir::Fold>& folds);

  // Computes columns [begin, begin + width) of a slab [n, inner] into the kernel's results, over its first `rows` rows, at
  // least one. Returns false if a maximum or minimum encountered a NaN: the caller must then compute them in another way.
  bool run(const KernelContext& c, std::int64_t outer, std::int64_t begin, std::int64_t width, std::int64_t rows) const;

 private:
  SlabFolds(std::shared_ptr<const FoldCode> code, TileAxes axes, std::size_t along, std::vector<std::size_t> elements,
            RowReads row_reads);
  struct SegmentColumns {
    std::int64_t outer, segment, column, width, rows;  // columns of one segment: see axes_
  };
  bool run_columns(const KernelContext& c, const SegmentColumns& part) const;

  std::shared_ptr<const FoldCode> code_;
  // Axis `along_` is the one that is reduced. The axes behind it are those of `inner`: the last is a segment, in which each
  // operand is contiguous or repeated.
  TileAxes axes_;
  std::size_t along_;
  std::int64_t inner_ = 1;
  std::vector<std::size_t> elements_;  // bytes of an element, by operand
  std::vector<std::int64_t> strides_;  // bytes between rows, by operand
  RowReads row_reads_;
};

}  // namespace graphrun
