// The moves (ops/index/moves.h) for the sizes of a request, and which parts of the operands a part of a result reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "ops/axis.h"
#include "ops/index/axis_part.h"
#include "ops/index/moves.h"

namespace graphrun {

// A move in the form that kernels take.
template <class Move>
struct SizedMove {
  Move move;
  // rows_apart: whether rows of the result (along its first axis) only read the same rows of those operands that have an axis.
  // looks_up: the first operand is a table, in which rows are looked up, and is exempt.
  bool rows_apart = true, looks_up = false;
  // Whether columns of the result (along its last axis) only read the same columns of the first operand.
  bool columns_apart = false;

  // The moved operand is the first and the integers follow it; if nothing is moved, the integers are the first.
  static constexpr std::size_t kIntegers = moves::kMarks<Move> ? 0 : 1;

  std::vector<bool> reads_other_rows(const KernelRequest& request) const {
    std::vector<bool> reads;
    for (std::size_t k = 0; k < request.inputs.size(); ++k)
      reads.push_back(!rows_apart || request.inputs[k].sizes.empty() || (looks_up && k == 0));
    return reads;
  }
  std::vector<bool> reads_other_columns(const KernelRequest& request) const {
    std::vector<bool> reads(request.inputs.size(), true);
    reads[0] = !columns_apart;
    return reads;
  }
};

// The position of an op's axis: an op along the first axis mixes rows, one along the last mixes columns.
struct AxisPlace {
  bool first = false, last = false;
};
// `rank`: that of the tensor that has the axis.
inline AxisPlace axis_place(const KernelRequest& request, std::size_t rank) {
  const int axis = ir::resolve_axis(request.attributes->integer("axis"), rank, "axis");
  return {axis == 0, axis + 1 == static_cast<int>(rank)};
}

// Adjacent runs.
inline moves::Runs runs_in_row(std::int64_t count, std::int64_t width) { return {{1, 1, count}, width}; }

inline SizedMove<moves::Gather> gather_move(const KernelRequest& request) {
  const TensorView &table = request.inputs[0], &indices = request.inputs[1];
  const std::int64_t count = indices.count(), width = count == 0 ? 0 : request.outputs[0].count() / count;
  return {{runs_in_row(count, width), table.sizes.front()}, !indices.sizes.empty(), true, table.sizes.size() > 1};
}

inline SizedMove<moves::Gather> select_rows_move(const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  const AxisView whole = attribute_axis(request, sizes, "select_rows");
  const moves::Runs runs = {{1, whole.outer, request.inputs[1].count()}, whole.inner};
  return {{runs, whole.n}, false, true, !axis_place(request, sizes.size()).last};
}

inline SizedMove<moves::Pick> pick_move(const KernelRequest& request) {
  return {{runs_in_row(request.outputs[0].count(), 1), request.inputs[0].sizes.back()}};
}

inline SizedMove<moves::OneHot> one_hot_move(const KernelRequest& request) {
  const std::int64_t depth = request.outputs[0].sizes.back();
  return {{{{request.inputs[0].count(), 1, depth}, 1}, depth}};
}

inline SizedMove<moves::PartMove> part_move(const KernelRequest& request, const AxisPart& part) {
  const AxisView& whole = part.whole;
  const AxisPlace at = axis_place(request, request.inputs[0].sizes.size());
  return {{runs_in_row(whole.outer, part.n * whole.inner), whole.n * whole.inner, part.begin * whole.inner},
          !at.first,
          false,
          !at.last};
}

inline SizedMove<moves::Pad> pad_move(const KernelRequest& request, const AxisPart& part) {
  const AxisView& whole = part.whole;
  const AxisPlace at = axis_place(request, request.outputs[0].sizes.size());
  return {{{{1, whole.outer, whole.n}, whole.inner}, part.begin, part.n}, !at.first, false, !at.last};
}

// For ops with lengths along the axis of a view: runs of columns that share a length.
struct LengthRuns {
  AxisView whole;
  std::int64_t repeat, width;

  LengthRuns(const AxisView& view, const TensorView& lengths)
      : whole(view), repeat(results_of_length(view, lengths)), width(std::max<std::int64_t>(1, std::gcd(view.inner, repeat))) {}
  moves::Runs of(std::int64_t n) const { return {{whole.outer, n, whole.inner / width}, width}; }
};

inline SizedMove<moves::Mask> mask_move(const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  const LengthRuns runs(attribute_axis(request, sizes, "mask"), request.inputs[1]);
  return {{runs.of(runs.whole.n), runs.repeat}, !axis_place(request, sizes.size()).first, false, true};
}

inline SizedMove<moves::SequenceMask> sequence_mask_move(const KernelRequest& request) {
  const Sizes& sizes = request.outputs[0].sizes;
  return {{{attribute_axis(request, sizes, "sequence_mask"), 1}, 1}, !axis_place(request, sizes.size()).first};
}

inline SizedMove<moves::Last> last_move(const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  const LengthRuns runs(attribute_axis(request, sizes, "last"), request.inputs[1]);
  const AxisPlace at = axis_place(request, sizes.size());
  return {{runs.of(1), runs.repeat, runs.whole.n}, !at.first, false, !at.last};
}

inline SizedMove<moves::LastGradient> last_gradient_move(const KernelRequest& request) {
  const Sizes& sizes = request.outputs[0].sizes;
  const LengthRuns runs(attribute_axis(request, sizes, "last_gradient"), request.inputs[1]);
  const AxisPlace at = axis_place(request, sizes.size());
  return {{runs.of(runs.whole.n), runs.repeat}, !at.first, false, !at.last};
}

}  // namespace graphrun
