// The part of an axis that slice and index read, and that pad writes.
#pragma once

#include <string>

#include "compiler/ir/op.h"
#include "ops/axis.h"

namespace graphrun {

// Positions [begin, begin + n) of the axis of the view `whole`.
struct AxisPart {
  AxisView whole;
  std::int64_t begin = 0, n = 0;
};

// Resolves a position that may count from the end: as an index, -1 is the last element; as the end of a slice, -1 excludes it.
inline Dim from_start(const Dim& position, const Dim& size) {
  return position.is_constant() && position.constant() < 0 ? size + position : position;
}

[[noreturn]] inline void refuse_at_run(const std::string& text) {
  throw UserError(ExitCode::kBadData, "E0611 slice-out-of-range", text);
}

inline AxisView attribute_axis(const KernelRequest& request, const Sizes& sizes, const char* op) {
  return view_axis(sizes, ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), op));
}

// The parts for slice and index; they throw UserError if the batch's sizes do not allow it.
inline AxisPart slice_part(const KernelRequest& request) {
  const AxisView view = attribute_axis(request, request.inputs[0].sizes, "slice");
  const std::int64_t begin = evaluate(from_start(request.attributes->dim("begin"), view.n), request);
  const std::int64_t end = evaluate(from_start(request.attributes->dim("end"), view.n), request);
  if (begin < 0 || end < begin || end > view.n) {
    refuse_at_run("slice: " + std::to_string(begin) + ":" + std::to_string(end) + " of an axis of size " +
                  std::to_string(view.n));
  }
  return {view, begin, end - begin};
}

inline AxisPart index_part(const KernelRequest& request) {
  const AxisView view = attribute_axis(request, request.inputs[0].sizes, "index");
  const std::int64_t at = evaluate(from_start(request.attributes->dim("at"), view.n), request);
  if (at < 0 || at >= view.n) {
    refuse_at_run("index: position " + std::to_string(at) + " of an axis of size " + std::to_string(view.n));
  }
  return {view, at, 1};
}

// `whole` is a view of the result.
inline AxisPart pad_part(const KernelRequest& request) {
  const std::int64_t n = attribute_axis(request, request.inputs[0].sizes, "pad").n;
  const AxisView to = attribute_axis(request, request.outputs[0].sizes, "pad");
  const std::int64_t begin = evaluate(request.attributes->dim("begin"), request);
  if (begin < 0 || begin + n > to.n) {
    refuse_at_run("pad: " + std::to_string(n) + " positions from " + std::to_string(begin) + " on do not fit into " +
                  std::to_string(to.n));
  }
  return {to, begin, n};
}

}  // namespace graphrun
