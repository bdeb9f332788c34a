// softmax and log_softmax, and their gradients.
#include "ops/dispatch.h"
#include "ops/normalize/softmax_simd.h"
#include "ops/over_sequence.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

// Binds a kernel with operands (x, lengths) or (y, lengths, g) whose result has the shape of the first.
template <class Run>
Kernel bind_along(const KernelRequest& request, const Run& run) {
  const Sizes& sizes = request.inputs[0].sizes;
  const AxisView view = view_axis(sizes, ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "softmax"));
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[view, one = is_one_column(request, view), run](const KernelContext& c) {
      ReduceTask<T> task;
      task.x = task.y = c.inputs[0].as<T>();
      if (c.inputs.size() > 2) task.g = c.inputs[2].as<T>();
      task.out = c.outputs[0].as<T>();
      task.view = view, task.lengths = lengths_of(c, 1, view), task.one_column = one;
      run_units(task, run);
    }};
  });
}

OpDefinition softmax_like(const std::string& name, const std::string& doc) {
  OpDefinition op(name, "reduce");
  op.Access(ir::Access::kReduction)
      .Doc(doc)
      .Input("x", "[...] FLOAT")
      .OptionalInput("lengths", kLengthsDoc)
      .Int("axis", -1, "the axis along which the exponentials are summed")
      .OverSequence(over_leading_axes_with_axis())
      .Output("y")
      .InPlace(0, 0)
      .Shape([](ir::InferContext& c) {
        ir::require_type(c, 0, Type::kFloat);
        ir::check_lengths(c, 0, 1, ir::resolve_axis(c.attributes->integer("axis"), c.input(0).shape.size(), c.op->name));
        c.outputs = {c.input(0)};
      })
      .Gradient([gradient = name + "_gradient"](ir::GradientContext& c) {
        if (c.needs()) c.set(0, c.b.op(gradient, {c.y(), c.x(1), c.g()}, {{"axis", c.attributes.integer("axis")}}));
      });
  return op;
}

OpDefinition softmax_gradient_like(const std::string& of, const std::string& equation) {
  OpDefinition op(of + "_gradient", "reduce");
  op.Access(ir::Access::kReduction)
      .Doc("The gradient of " + of + ": " + equation +
           ", with sums along axis; 0 at or beyond the lengths.\n  y, g, d_x [..., n, ...]")
      .Input("y", "[...] FLOAT: the result")
      .OptionalInput("lengths", "INT32: those of " + of)
      .Input("g", "[...] FLOAT: the gradient of the result")
      .Int("axis", -1, "that of " + of)
      .OverSequence(over_leading_axes_with_axis())
      .Output("d_x")
      .Internal()
      .InPlace(0, 0)
      .InPlace(0, 2)
      .Shape([](ir::InferContext& c) { c.outputs = {c.input(0)}; })
      .NoGradient("it is the gradient of another op, and there are no second derivatives");
  return op;
}

const OpRegistration softmax_op =
    softmax_like("softmax",
                 "y = exp(x) / sum(exp(x)) along axis, computed without overflow. Positions at or beyond `lengths` do not\n"
                 "count and get 0.\n"
                 "  x [..., n, ...] -> y of x's shape\n"
                 "  let: \"weights = softmax(e, axis=0, lengths=lengths)\"");
const OpRegistration log_softmax_op =
    softmax_like("log_softmax",
                 "y = x - log(sum(exp(x))) along axis, computed without overflow. Positions at or beyond `lengths` do not\n"
                 "count and get 0.\n"
                 "  x [..., n, ...] -> y of x's shape\n"
                 "  let: \"score = log_softmax(logits)\"");
const OpRegistration softmax_gradient_op = softmax_gradient_like("softmax", "d_x = y * (g - sum(g * y))");
const OpRegistration log_softmax_gradient_op = softmax_gradient_like("log_softmax", "d_x = g - exp(y) * sum(g)");

REGISTER_KERNEL("softmax", kCpu,
                [](const KernelRequest& r) { return bind_along(r, [](const auto& task) { softmax_along(task); }); });
REGISTER_KERNEL("log_softmax", kCpu,
                [](const KernelRequest& r) { return bind_along(r, [](const auto& task) { log_softmax_along(task); }); });
REGISTER_KERNEL("softmax_gradient", kCpu,
                [](const KernelRequest& r) { return bind_along(r, [](const auto& task) { softmax_gradient_along(task); }); });
REGISTER_KERNEL("log_softmax_gradient", kCpu, [](const KernelRequest& r) {
  return bind_along(r, [](const auto& task) { log_softmax_gradient_along(task); });
});

}  // namespace
}  // namespace graphrun
