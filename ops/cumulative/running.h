// What the kernels of cumsum share, on every device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "compiler/ir/op.h"
#include "ops/axis.h"

namespace graphrun {

// In what sums of elements T are kept, and what they are given out as.
template <class T>
using RunningTotal = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
template <class T>
using RunningResult = std::conditional_t<std::is_floating_point_v<T>, T, std::int32_t>;

struct Running {
  AxisView view;
  bool reverse = false;
};

inline Running running_of(const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  return {view_axis(sizes, ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "cumsum")),
          request.attributes->boolean("reverse")};
}

}  // namespace graphrun
