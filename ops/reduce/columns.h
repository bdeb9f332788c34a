// How the kernels of this folder split a reduction along one axis: tensors are [outer, n, inner]. If inner is 1, the unit of
// work is a row (but see one_column); otherwise it is a strip of adjacent columns of one outer index. A unit is always computed
// by one thread, in one order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include "ops/axis.h"
#include "ops/parallel.h"
#include "ops/rows.h"
#include "runtime/base/status.h"

namespace graphrun {

inline constexpr std::int64_t kStrip = 256;  // columns: accumulators stay in the first-level cache

// Sums over fewer rows, such as those over the words of a sentence, do not depend on what else is in a batch: a result that is
// alone is added up in the order that it has beside others.
inline constexpr std::int64_t kManyRows = 256;

inline std::int64_t strips(const AxisView& view) { return (view.inner + kStrip - 1) / kStrip; }
inline std::int64_t units(const AxisView& view) { return view.inner == 1 ? view.outer : view.outer * strips(view); }

// The columns of one unit.
struct Strip {
  std::int64_t outer, begin, width;
  std::int64_t result;  // index of the first column's element in the result

  Strip(const AxisView& view, std::int64_t unit) {
    const std::int64_t each = strips(view);
    outer = each == 1 ? unit : unit / each;  // a division costs as much as a short strip
    begin = (unit - outer * each) * kStrip;
    width = std::min(kStrip, view.inner - begin);
    result = outer * view.inner + begin;
  }
  // The index in x of the first column at position `a` of the axis.
  std::int64_t at(const AxisView& view, std::int64_t a) const { return (outer * view.n + a) * view.inner + begin; }
};

// The lengths of a strip's columns as floats, so that vectors of them can be compared with a position; exact below 2^24
// positions.
template <class T>
struct StripLimits {
  alignas(64) T limit[kStrip];
  std::int64_t most = 0;  // the greatest

  StripLimits(const Strip& strip, const Lengths& lengths) {
    for (std::int64_t i = 0; i < strip.width; ++i) {
      const std::int64_t n = lengths.at(strip.result + i);
      limit[i] = static_cast<T>(n);
      most = std::max(most, n);
    }
  }
};

// One pass of a kernel over units [begin, end); each kernel defines the meaning of the arrays.
template <class T>
struct ReduceTask {
  const T* x = nullptr;
  const T* y = nullptr;
  const T* g = nullptr;
  T* out = nullptr;
  std::int32_t* positions = nullptr;  // of argmax, whose `out` may be null
  AxisView view;
  Lengths lengths;
  bool one_column = false;  // inner is 1, but only for these sizes: a row is computed like a strip of one column
  std::int64_t begin = 0, end = 0;

  bool by_rows() const { return view.inner == 1 && !one_column; }
};

// Whether the one result of each outer index is one of several for other sizes: behind those in the attribute `axis`, the
// operand, of this rank, has more axes, and they are 1.
inline bool is_one_column(const Attributes& attributes, std::size_t rank, const AxisView& view) {
  if (view.inner != 1 || view.n >= kManyRows) return false;
  const auto axis = attributes.all().find("axis");
  if (axis == attributes.all().end()) return false;
  std::vector<std::int64_t> axes;
  if (const auto* one = std::get_if<std::int64_t>(&axis->second)) axes = {*one};
  if (const auto* several = std::get_if<std::vector<std::int64_t>>(&axis->second)) axes = *several;
  const auto last = static_cast<std::int64_t>(rank) - 1;
  return !axes.empty() && std::all_of(axes.begin(), axes.end(), [&](std::int64_t a) { return a != -1 && a != last; });
}
// Of an op that reduces its first input.
inline bool is_one_column(const KernelRequest& request, const AxisView& view) {
  return is_one_column(*request.attributes, request.inputs[0].sizes.size(), view);
}

// A whole tensor [outer, n, inner] without lengths, for one thread.
template <class T>
ReduceTask<T> whole_task(const T* x, T* out, const AxisView& view) {
  ReduceTask<T> task;
  task.x = x, task.out = out, task.view = view, task.lengths = {nullptr, 1, view.n};
  task.end = units(view);
  return task;
}

// Runs a kernel over all units of `task`, on several threads if there is much work.
template <class T, class Run>
void run_units(ReduceTask<T> task, const Run& run) {
  if (task.view.results() == 0) return;
  // StripLimits holds positions as floats.
  GRAPHRUN_CHECK(task.view.inner == 1 || sizeof(T) > 4 || task.view.n <= 1 << 24, "a reduction over too long an axis");
  parallel_for(units(task.view), task.view.count(), [&](std::int64_t begin, std::int64_t end) {
    ReduceTask<T> part = task;
    part.begin = begin, part.end = end;
    run(part);
  });
}

template <class T, class Make>
ReduceTask<T> task_of(const KernelContext& c, const AxisView& view, bool one_column, const Make& make) {
  ReduceTask<T> task;
  task.x = c.inputs[0].as<T>(), task.view = view, task.lengths = lengths_of(c, 1, view), task.one_column = one_column;
  make(c, task);
  return task;
}

// The kernel of a reduction of x, input 0, with optional lengths, input 1; `make` sets where the results go. It can be shared
// by rows if the first axis is not reduced.
template <class T, class Make, class Run>
Kernel reduction_kernel(const KernelRequest& request, const AxisView& view, const Make& make, const Run& run) {
  Kernel kernel;
  const bool one = is_one_column(request, view);
  kernel.run = [view, one, make, run](const KernelContext& c) { run_units(task_of<T>(c, view, one, make), run); };
  const Sizes &x = request.inputs[0].sizes, &result = request.outputs[0].sizes;
  const bool keeps_rows = !x.empty() && !result.empty() && x[0] == result[0] && view.count() > 0 && view.outer % x[0] == 0;
  if (!keeps_rows) return kernel;
  const bool one_length = has_input(request, 1) && request.inputs[1].sizes.empty();
  kernel.by_rows =
      row_kernel(request, {false, one_length},
                 [view, one, make, run, rows = x[0]](const KernelContext& c, std::int64_t begin, std::int64_t end) {
                   ReduceTask<T> part = task_of<T>(c, view, one, make);
                   const std::int64_t each = units(view) / rows;
                   part.begin = begin * each, part.end = end * each;
                   run(part);
                 });
  return kernel;
}

}  // namespace graphrun
