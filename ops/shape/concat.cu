// concat, stack and split on CUDA: one launch per part.
#include "compiler/ir/op.h"
#include "ops/dispatch.h"
#include "ops/schema.h"
#include "ops/shape/join.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

using cuda::for_elements;

enum class Way : bool { kJoin, kCut };

template <class T>
void copy_part(const KernelContext& c, const PartLayout& layout, std::size_t i, Way way) {
  const bool join = way == Way::kJoin;
  const auto elements = [](std::size_t bytes) { return static_cast<std::int64_t>(bytes / sizeof(T)); };
  const std::int64_t width = elements(layout.parts[i].bytes), row = elements(layout.row),
                     before = elements(layout.parts[i].offset);
  T* whole = (join ? c.outputs[0] : c.inputs[0]).template as<T>();
  T* part = (join ? c.inputs[i] : c.outputs[i]).template as<T>();
  for_elements(
      c, layout.outer * width, GRAPHRUN_LAMBDA(std::int64_t k) {
        T& there = whole[k / width * row + before + k % width];
        if (join) {
          there = part[k];
        } else {
          part[k] = there;
        }
      });
}

template <class T>
Kernel parts_kernel(const PartLayout& layout, Way way) {
  return {[layout, way](const KernelContext& c) {
    for (std::size_t i = 0; i < layout.parts.size(); ++i) copy_part<T>(c, layout, i, way);
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
