// Selects rows of tensors in the host's memory, along any axis.
//
// If the rows are along a later axis, only the first `leading` positions of axis 0 are copied: the steps that a history has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/tensor/tensor.h"

namespace graphrun {

// Copies row rows[r] of `from` to row r of `to`.
void copy_rows(const Tensor& from, Tensor& to, std::size_t axis, const std::vector<std::int64_t>& rows, std::int64_t leading);

// Row r of the result is row rows[r] of the tensor, in whose memory it is. The number of rows may change; the tensor has room
// for the result (Tensor::has_room_for). Positions of axis 0 from `leading` on are arbitrary.
Tensor select_rows_in_place(Tensor tensor, std::size_t axis, const std::vector<std::int64_t>& rows, std::int64_t leading);

// The moves after which row r is what row sources[r] was, for as many rows as there were. Only rows that change are copied.
class RowMoves {
 public:
  explicit RowMoves(const std::vector<std::int64_t>& sources);
  // Makes the moves in the tensor's memory, which no other tensor may share.
  void apply(Tensor& tensor, std::size_t axis, std::int64_t leading) const;

 private:
  struct Move {
    std::int64_t to, from;  // rows; kAside: a buffer for one row
  };
  static constexpr std::int64_t kAside = -1;
  std::vector<Move> moves_;  // in order: no row is overwritten before its last read
};

}  // namespace graphrun
