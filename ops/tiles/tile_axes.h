// Where the elements of a pointwise program's operands are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/tiles/row_reads.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

// How the operands' elements are found from the result's: strides over as few axes as possible, 0 if an operand is repeated.
struct TileAxes {
  static constexpr std::size_t kNoAxis = static_cast<std::size_t>(-1);
  Sizes sizes;
  std::vector<std::vector<std::int64_t>> strides;  // by axis, then operand; in elements
  // By operand: the axis whose positions are given by the list of row numbers (RowReads), never the last; kNoAxis: none.
  std::vector<std::size_t> listed;

  // `keep_last`: the last axis is never merged, for ranges of columns. `cuts`: axes that are not merged with those before them.
  TileAxes(const Sizes& result, std::span<const TensorView> inputs, bool keep_last, std::span<const std::size_t> cuts = {},
           const RowReads& rows = {});
  std::int64_t rows() const;
  std::int64_t inner() const { return sizes.back(); }
  // How far position i of an axis is from the axis's first in operand k, in elements. `numbers`: the list, if any is listed.
  std::int64_t step(std::size_t axis, std::size_t k, std::int64_t i, const std::int32_t* numbers) const {
    return (listed[k] == axis ? numbers[i] : i) * strides[axis][k];
  }
  // The offset of operand k's first element in a row: a position of all axes but the last.
  std::int64_t row_offset(std::size_t k, std::int64_t row, const std::int32_t* numbers) const;
};

}  // namespace graphrun
