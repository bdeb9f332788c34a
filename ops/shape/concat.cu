// concat, stack and split on CUDA: one launch for all parts, unless there are many.
#include <algorithm>

#include "compiler/ir/op.h"
#include "ops/dispatch.h"
#include "ops/schema.h"
#include "ops/shape/join.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

using cuda::for_elements;

enum class Way : bool { kJoin, kCut };

// Up to kMost consecutive parts, and where they begin in a row of the whole, in elements.
template <class T>
struct PartsCopy {
  static constexpr int kMost = 8;
  T* whole;
  T* parts[kMost];
  std::int64_t begins[kMost + 1];
  int count;
  std::int64_t row;   // elements of a row of the whole
  std::int64_t span;  // of these parts
  Way way;

  GRAPHRUN_DEVICE void operator()(std::int64_t k) const {
    const std::int64_t outer = k / span, column = begins[0] + k % span;
    T* part = parts[0];
    std::int64_t begin = begins[0], end = begins[1];
    GRAPHRUN_UNROLL
    for (int i = 1; i < kMost; ++i) {  // the array is read at fixed places, so it stays in the arguments
      if (i < count && column >= begins[i]) part = parts[i], begin = begins[i], end = begins[i + 1];
    }
    T& there = whole[outer * row + column];
    T& here = part[outer * (end - begin) + column - begin];
    if (way == Way::kJoin) {
      there = here;
    } else {
      here = there;
    }
  }
};

template <class T>
Kernel parts_kernel(const PartLayout& layout, Way way) {
  return {[layout, way](const KernelContext& c) {
    const bool join = way == Way::kJoin;
    const auto elements = [](std::size_t bytes) { return static_cast<std::int64_t>(bytes / sizeof(T)); };
    const std::size_t all = layout.parts.size();
    for (std::size_t first = 0; first < all; first += PartsCopy<T>::kMost) {
      PartsCopy<T> copy = {};
      copy.way = way;
      copy.whole = (join ? c.outputs[0] : c.inputs[0]).template as<T>();
      copy.row = elements(layout.row);
      copy.count = static_cast<int>(std::min<std::size_t>(PartsCopy<T>::kMost, all - first));
      for (int i = 0; i < copy.count; ++i) {
        const std::size_t k = first + static_cast<std::size_t>(i);
        copy.parts[i] = (join ? c.inputs[k] : c.outputs[k]).template as<T>();
        copy.begins[i] = elements(layout.parts[k].offset);
        copy.begins[i + 1] = copy.begins[i] + elements(layout.parts[k].bytes);
      }
      copy.span = copy.begins[copy.count] - copy.begins[0];
      for_elements(c, layout.outer * copy.span, copy);
    }
  }};
}

// The tensor that consists of the parts is the result, or the operand that is split.
Kernel bind_parts(const KernelRequest& request, const char* op, Way way, bool stacked) {
  const TensorView& whole = way == Way::kJoin ? request.outputs[0] : request.inputs[0];
  const std::vector<TensorView>& parts = way == Way::kJoin ? request.inputs : request.outputs;
  const int axis = ir::resolve_axis(request.attributes->integer("axis"), whole.sizes.size(), op);
  const PartLayout layout = layout_of(whole.sizes, axis, parts, stacked);
  return with_bits(whole.dtype, [&](auto zero) { return parts_kernel<decltype(zero)>(layout, way); });
}

REGISTER_KERNEL("concat", kCuda, [](const KernelRequest& r) { return bind_parts(r, "concat", Way::kJoin, false); });
REGISTER_KERNEL("stack", kCuda, [](const KernelRequest& r) { return bind_parts(r, "stack", Way::kJoin, true); });
REGISTER_KERNEL("split", kCuda, [](const KernelRequest& r) { return bind_parts(r, "split", Way::kCut, false); });

}  // namespace
}  // namespace graphrun
