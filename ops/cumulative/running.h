// Definitions shared by the kernels of cumsum on every device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "compiler/ir/op.h"
#include "ops/axis.h"

namespace graphrun {

// The type in which elements of type T are summed, and the type of the result.
template <class T>
using RunningTotal = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
template <class T>
using RunningResult = std::conditional_t<std::is_floating_point_v<T>, T, std::int32_t>;

struct RunningSum {
  AxisView view;
  bool reverse = false;
};

inline RunningSum running_of(const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  return {view_axis(sizes, ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "cumsum")),
          request.attributes->boolean("reverse")};
}

}  // namespace graphrun
