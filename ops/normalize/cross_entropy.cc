// cross_entropy of logits against the target class, and its gradient.
#include <cstdint>
#include <string>

#include "ops/dispatch.h"
#include "ops/indices.h"
#include "ops/normalize/cross_entropy_simd.h"
#include "ops/over_sequence.h"
#include "ops/parallel.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

void infer_cross_entropy(ir::InferContext& c) {
  ir::require_type(c, 0, Type::kFloat);
  ir::require_type(c, 1, Type::kInt32);
  ir::require_rank_at_least(c, 0, 1);
  Shape rows = c.input(0).shape;
  rows.pop_back();
  if (c.input(1).shape != rows) {
    throw ir::OpError("E0301 shape-mismatch",
                      "cross_entropy: target " + str(c.input(1).shape) + " does not fit logits " + str(c.input(0).shape),
                      "help: there is one target for each row of logits: " + str(rows));
  }
  const double smoothing = c.attributes->number("label_smoothing");
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw ir::OpError("E0306 wrong-attribute",
                      "cross_entropy: label_smoothing must be in 0 … 1, found " + std::to_string(smoothing));
  }
  c.outputs = {{Type::kFloat, std::move(rows)}};
}

// The part of a task that forward and backward share.
template <class T>
CrossEntropyTask<T> task_of(const KernelContext& c, std::int64_t classes, double smoothing) {
  check_indices(c.inputs[1], classes, "cross_entropy: target");
  CrossEntropyTask<T> task;
  task.logits = c.inputs[0].as<T>();
  task.target = c.inputs[1].as<std::int32_t>();
  task.classes = classes;
  task.smoothing = static_cast<T>(smoothing);
  return task;
}

REGISTER_OP("cross_entropy", "reduce")
    .Doc(
        "y = -log(softmax(logits)[target]). With label smoothing e, y = -(1 - e) * log p[target] - e * mean(log p): the cross\n"
        "entropy against 1 - e + e/n for the target and e/n for the other classes (Szegedy et al. 2016). Labels are smoothed "
        "in\n"
        "training only.\n"
        "  logits [..., n], target [...] -> y [...]\n"
        "  let: \"nll = mask(cross_entropy(logits, target), lengths=lengths, axis=0)\"")
    .Input("logits", "[..., n] FLOAT: unnormalized scores")
    .Input("target", "[...] INT32: the correct class of each row, in [0, n), also in padding")
    .Float("label_smoothing", 0, "the weight e that is spread over all classes")
    .TrainingOnly()
    .OverSequence(over_leading_axes())
    .Role(ir::Role::kCrossEntropy)
    .Access(ir::Access::kReduction)
    .Output("y")
    .Shape(infer_cross_entropy)
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      c.set(0, c.b.op("cross_entropy_gradient", {c.x(), c.x(1), c.y(), c.g()},
                      {{"label_smoothing", c.attributes.number("label_smoothing")}}));
    });
REGISTER_KERNEL("cross_entropy", kCpu, [](const KernelRequest& request) {
  const std::int64_t classes = request.inputs[0].sizes.back(), rows = request.outputs[0].count();
  const double smoothing = request.attributes->number("label_smoothing");
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[=](const KernelContext& c) {
      CrossEntropyTask<T> task = task_of<T>(c, classes, smoothing);
      task.nll = c.outputs[0].as<T>();
      parallel_for(rows, rows * classes, [&](std::int64_t begin, std::int64_t end) {
        CrossEntropyTask<T> part = task;
        part.begin = begin, part.end = end;
        cross_entropy_rows(part);
      });
    }};
  });
});

REGISTER_OP("cross_entropy_gradient", "reduce")
    .Doc(
        "The gradient of cross_entropy: d_logits = g * (softmax(logits) - e/n - (1 - e) * one_hot(target)), where e\n"
        "is the label smoothing. y provides the logarithm of the sum of exponentials, so each row is read once. Rows whose g\n"
        "is 0, such as padding, get 0 by selection.\n"
        "  logits [..., n], target, y, g [...] -> d_logits [..., n]")
    .Input("logits", "[..., n] FLOAT")
    .Input("target", "[...] INT32")
    .Input("y", "[...] FLOAT: the result")
    .Input("g", "[...] FLOAT: the gradient of the result")
    .Float("label_smoothing", 0, "that of cross_entropy")
    .OverSequence(over_leading_axes())
    .Role(ir::Role::kCrossEntropyGradient)
    .Access(ir::Access::kReduction)
    .Output("d_logits")
    .Internal()
    .InPlace(0, 0)
    .Shape([](ir::InferContext& c) { c.outputs = {c.input(0)}; })
    .NoGradient("it is the gradient of another op, and there are no second derivatives");
REGISTER_KERNEL("cross_entropy_gradient", kCpu, [](const KernelRequest& request) {
  const std::int64_t classes = request.inputs[0].sizes.back(), rows = request.inputs[1].count();
  const double smoothing = request.attributes->number("label_smoothing");
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[=](const KernelContext& c) {
      CrossEntropyTask<T> task = task_of<T>(c, classes, smoothing);
      task.nll = c.inputs[2].as<T>();
      task.g = c.inputs[3].as<T>();
      task.d_logits = c.outputs[0].as<T>();
      parallel_for(rows, rows * classes, [&](std::int64_t begin, std::int64_t end) {
        CrossEntropyTask<T> part = task;
        part.begin = begin, part.end = end;
        cross_entropy_gradient_rows(part);
      });
    }};
  });
});

}  // namespace
}  // namespace graphrun
