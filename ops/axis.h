// Views of tensors along one axis, for code that binds and runs kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/axis_view.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// The view around axes first .. last-1, which are merged into one.
inline AxisView view_axes(const Sizes& sizes, int first, int last) {
  AxisView view;
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    (i < first ? view.outer : i < last ? view.n : view.inner) *= sizes[static_cast<std::size_t>(i)];
  }
  return view;
}
inline AxisView view_axis(const Sizes& sizes, int axis) { return view_axes(sizes, axis, axis + 1); }

inline bool has_input(const KernelContext& context, std::size_t i) {
  return i < context.inputs.size() && context.inputs[i].present();
}
inline bool has_input(const KernelRequest& request, std::size_t i) {
  return i < request.inputs.size() && !(i < request.absent_inputs.size() && request.absent_inputs[i]);
}

// The value of a size attribute for the batch that a kernel is bound to.
inline std::int64_t evaluate(const Dim& dim, const KernelRequest& request) {
  return request.symbols != nullptr ? dim.evaluate(*request.symbols) : dim.evaluate({});
}

// The consecutive results that each of the lengths applies to: Lengths::repeat.
inline std::int64_t results_of_length(const AxisView& view, const TensorView& lengths) {
  return std::max<std::int64_t>(1, view.results() / std::max<std::int64_t>(1, lengths.count()));
}

// Operand i of a running kernel, as lengths along the axis of `view`.
inline Lengths lengths_of(const KernelContext& context, std::size_t i, const AxisView& view) {
  if (!has_input(context, i)) return {nullptr, 1, view.n};
  const TensorView& lengths = context.inputs[i];
  return {lengths.as<std::int32_t>(), results_of_length(view, lengths), view.n};
}

}  // namespace graphrun
