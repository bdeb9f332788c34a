// sum_to: undoes broadcasting.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/sequence.h"
#include "ops/dispatch.h"
#include "ops/reduce/fold_simd.h"
#include "ops/reduce/sum_steps.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

template <class T>
void sum_step(const T* x, T* out, const AxisView& view) {
  ReduceTask<T> task;
  task.x = x, task.out = out, task.view = view, task.lengths = {nullptr, 1, view.n};
  run_units(task, [](const ReduceTask<T>& part) { sum_along(part); });
}

Kernel bind_sum_to(const KernelRequest& request) {
  const std::vector<AxisView> steps = steps_to(request.inputs[0].sizes, request.outputs[0].sizes);
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    // Intermediate results between steps are in two halves of the workspace, used alternately.
    const std::size_t half = steps.size() < 2 ? 0 : static_cast<std::size_t>(steps.front().results()) * sizeof(T);
    const std::size_t aligned = (half + kAlignment - 1) / kAlignment * kAlignment;
    Kernel kernel;
    kernel.workspace = steps.size() < 2 ? 0 : steps.size() == 2 ? aligned : 2 * aligned;
    kernel.run = [steps, aligned](const KernelContext& c) {
      const T* x = c.inputs[0].as<T>();
      T* out = c.outputs[0].as<T>();
      if (steps.empty()) {
        std::copy_n(x, c.outputs[0].count(), out);
        return;
      }
      for (std::size_t i = 0; i < steps.size(); ++i) {
        T* to = i + 1 == steps.size() ? out : reinterpret_cast<T*>(static_cast<char*>(c.workspace) + i % 2 * aligned);
        sum_step(x, to, steps[i]);
        x = to;
      }
    };
    return kernel;
  });
}

REGISTER_OP("sum_to", "reduce")
    .Doc(
        "y = x summed over the axes that broadcasting from `shape` to x's shape would add or stretch. The gradient of\n"
        "broadcast_to.\n"
        "  x [time, batch, n] -> y [n], [batch, 1], …\n"
        "  let: \"db = sum_to(g, shape=[hidden])\"")
    .Input("x", "[...] FLOAT")
    .Required("shape", AttributeKind::kShape, "the shape of the result: its axes, aligned at the last, are those of x or 1")
    .OverSequence([](ir::SequenceContext& c) -> std::vector<ir::ValueId> {
      // Extra leading axes are reduced to size 1 first, and dropped at the end.
      const Shape& shape = c.attributes.shape("shape");
      Shape padded = shape;
      padded.insert(padded.begin(), c.rank(0) - shape.size(), Dim(1));
      const ir::ValueId y = c.again({c.sequence(0)}, {{"shape", c.with_steps(padded)}})[0];
      if (padded == shape) return {y};
      return {c.b.op("reshape", {y}, {{"shape", c.with_steps(shape)}})};
    })
    .SumsOverLeadingAxes()
    .Role(ir::Role::kSumTo)
    .Access(ir::Access::kReduction)
    .Fold(ir::FoldKind::kSum)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_type(c, 0, Type::kFloat);
      const Shape &x = c.input(0).shape, &shape = c.attributes->shape("shape");
      if (broadcast(x, shape) != x) {
        throw ir::OpError("E0301 shape-mismatch", "sum_to: " + str(shape) + " does not broadcast to " + str(x),
                          "help: counted from the last, each axis of the result is the same as in x, or 1");
      }
      c.outputs = {{Type::kFloat, shape}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs()) c.set(0, c.b.op("broadcast_to", {c.g()}, {{"shape", Shape(c.shape(c.x()))}}));
    });
REGISTER_KERNEL("sum_to", kCpu, bind_sum_to);

}  // namespace
}  // namespace graphrun
