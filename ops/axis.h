// Tensors seen from one axis, and the lengths that say how much of that axis is real. What is constexpr CUDA sources call on
// the device too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/kernel.h"

namespace graphrun {

// [outer, n, inner], row-major: what stands before an axis (or before neighbouring axes), along it, after it.
struct AxisView {
  std::int64_t outer = 1, n = 1, inner = 1;

  constexpr std::int64_t count() const { return outer * n * inner; }
  constexpr std::int64_t results() const { return outer * inner; }  // elements once the axis is gone
};

// Around the axes first .. last-1, merged.
inline AxisView view_axes(const Sizes& sizes, int first, int last) {
  AxisView view;
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    (i < first ? view.outer : i < last ? view.n : view.inner) *= sizes[static_cast<std::size_t>(i)];
  }
  return view;
}
inline AxisView view_axis(const Sizes& sizes, int axis) { return view_axes(sizes, axis, axis + 1); }

// The number of real positions along an axis, for each element of the result without the axis. The dims of `lengths` lead those
// of the result, so each length stands for `repeat` neighbouring elements.
struct Lengths {
  const std::int32_t* data = nullptr;  // null: all positions are real
  std::int64_t repeat = 1;
  std::int64_t limit = 0;  // the size of the axis

  constexpr bool present() const { return data != nullptr; }
  constexpr std::int64_t at(std::int64_t result) const {
    return data == nullptr ? limit : std::clamp<std::int64_t>(data[result / repeat], 0, limit);
  }
};

inline bool has_input(const KernelContext& context, std::size_t i) {
  return i < context.inputs.size() && context.inputs[i].present();
}
inline bool has_input(const KernelRequest& request, std::size_t i) {
  return i < request.inputs.size() && !(i < request.absent_inputs.size() && request.absent_inputs[i]);
}

// An attribute's size for the batch that a kernel is bound for.
inline std::int64_t evaluate(const Dim& dim, const KernelRequest& request) {
  return request.symbols != nullptr ? dim.evaluate(*request.symbols) : dim.evaluate({});
}

// Operand i of a running kernel as lengths along the axis of `view`.
inline Lengths lengths_of(const KernelContext& context, std::size_t i, const AxisView& view) {
  if (!has_input(context, i)) return {nullptr, 1, view.n};
  const TensorView& lengths = context.inputs[i];
  return {lengths.as<std::int32_t>(), std::max<std::int64_t>(1, view.results() / std::max<std::int64_t>(1, lengths.count())),
          view.n};
}

}  // namespace graphrun
