// normalize and layer_norm.
#include <cstdint>
#include <string>

#include "ops/dispatch.h"
#include "ops/normalize/normalize_simd.h"
#include "ops/over_sequence.h"
#include "ops/parallel.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

void infer_normalize(ir::InferContext& c) {
  ir::require_type(c, 0, Type::kFloat);
  ir::require_rank_at_least(c, 0, 1);
  if (!(c.attributes->number("epsilon") >= 0)) {
    throw ir::OpError("E0306 wrong-attribute", c.op->name + ": epsilon must not be negative");
  }
  c.outputs = {c.input(0)};
}

template <class T, class Run>
void run_rows(NormalizeTask<T> task, std::int64_t count, const Run& run) {
  if (task.width == 0) return;
  parallel_for(count / task.width, count, [&](std::int64_t begin, std::int64_t end) {
    NormalizeTask<T> part = task;
    part.begin = begin, part.end = end;
    run(part);
  });
}

template <class T>
NormalizeTask<T> task_of(const KernelContext& c, double epsilon) {
  NormalizeTask<T> task;
  task.x = c.inputs[0].as<T>();
  task.out = c.outputs[0].as<T>();
  task.width = c.inputs[0].sizes.back();
  task.epsilon = static_cast<T>(epsilon);
  return task;
}

REGISTER_OP("normalize", "reduce")
    .Doc(
        "y = (x - mean(x)) / sqrt(variance(x) + epsilon) over the last axis, with the population variance (divided\n"
        "by n): layer normalization (Ba et al. 2016) without gain and bias.\n"
        "  x [..., n] -> y of x's shape\n"
        "  let: \"p = normalize(x @ W) * gain + bias\"")
    .Input("x", "[..., n] FLOAT")
    .Float("epsilon", 1e-6, "keeps the quotient finite if a row is constant")
    .OverSequence(over_leading_axes())
    .Access(ir::Access::kReduction)
    .Output("y")
    .InPlace(0, 0)
    .Shape(infer_normalize)
    .Gradient([](ir::GradientContext& c) {
      if (c.needs())
        c.set(0, c.b.op("normalize_gradient", {c.x(), ir::kNone, c.g()}, {{"epsilon", c.attributes.number("epsilon")}}));
    });
REGISTER_KERNEL("normalize", kCpu, [](const KernelRequest& request) {
  const double epsilon = request.attributes->number("epsilon");
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[epsilon](const KernelContext& c) {
      run_rows(task_of<T>(c, epsilon), c.inputs[0].count(), [](const NormalizeTask<T>& part) { normalize_rows(part); });
    }};
  });
});

REGISTER_OP("layer_norm", "reduce")
    .Doc(
        "y = gain * (x - mean(x)) / sqrt(variance(x) + epsilon) + bias over the last axis (Ba et al. 2016).\n"
        "  x [..., n], gain [n], bias [n] -> y of x's shape\n"
        "  let: \"y = layer_norm(x, gain, bias)\"")
    .Input("x", "[..., n] FLOAT")
    .Input("gain", "[n] FLOAT")
    .Input("bias", "[n] FLOAT")
    .Float("epsilon", 1e-6, "keeps the quotient finite if a row is constant")
    .OverSequence(over_leading_axes({1, 2}))
    .Access(ir::Access::kReduction)
    .Output("y")
    .InPlace(0, 0)
    .Shape([](ir::InferContext& c) {
      infer_normalize(c);
      for (std::size_t i : {1u, 2u}) {
        ir::require_type(c, i, Type::kFloat);
        const Shape wanted = {c.input(0).shape.back()};
        if (c.input(i).shape != wanted) {
          throw ir::OpError("E0301 shape-mismatch", "layer_norm: " + c.op->inputs[i].name + " must be " + str(wanted) +
                                                        " as the last axis of x " + str(c.input(0).shape) + ", found " +
                                                        str(c.input(i).shape));
        }
      }
    })
    .Gradient([](ir::GradientContext& c) {
      const double epsilon = c.attributes.number("epsilon");
      if (c.needs(0)) c.set(0, c.b.op("normalize_gradient", {c.x(), c.x(1), c.g()}, {{"epsilon", epsilon}}));
      if (c.needs(1)) {
        const ir::ValueId normal = c.b.op("normalize", {c.x()}, {{"epsilon", epsilon}});
        c.set(1, c.b.sum_to(c.b.op("mul", {c.g(), normal}), Shape(c.shape(c.x(1)))));
      }
      if (c.needs(2)) c.set(2, c.b.sum_to(c.g(), c.shape(c.x(2))));
    });
REGISTER_KERNEL("layer_norm", kCpu, [](const KernelRequest& request) {
  const double epsilon = request.attributes->number("epsilon");
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[epsilon](const KernelContext& c) {
      NormalizeTask<T> task = task_of<T>(c, epsilon);
      task.gain = c.inputs[1].as<T>(), task.bias = c.inputs[2].as<T>();
      run_rows(task, c.inputs[0].count(), [](const NormalizeTask<T>& part) { normalize_rows(part); });
    }};
  });
});

REGISTER_OP("normalize_gradient", "reduce")
    .Doc(
        "The gradient of normalize, and of layer_norm with respect to x. With n = (x - mean) * r, r = 1 / sqrt(variance +\n"
        "epsilon) and h = g * gain: d_x = r * (h - mean(h) - n * mean(h * n)).\n"
        "  x, g [..., n], gain [n] -> d_x [..., n]")
    .Input("x", "[..., n] FLOAT")
    .OptionalInput("gain", "[n] FLOAT: that of layer_norm")
    .Input("g", "[..., n] FLOAT: the gradient of the result")
    .Float("epsilon", 1e-6, "that of normalize")
    .OverSequence(over_leading_axes({1}))
    .Access(ir::Access::kReduction)
    .Output("d_x")
    .Internal()
    .InPlace(0, 0)
    .InPlace(0, 2)
    .Shape([](ir::InferContext& c) { c.outputs = {c.input(0)}; })
    .NoGradient("it is the gradient of another op, and there are no second derivatives");
REGISTER_KERNEL("normalize_gradient", kCpu, [](const KernelRequest& request) {
  const double epsilon = request.attributes->number("epsilon");
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[epsilon](const KernelContext& c) {
      NormalizeTask<T> task = task_of<T>(c, epsilon);
      task.gain = c.inputs[1].as<T>();
      task.g = c.inputs[2].as<T>();
      run_rows(task, c.inputs[0].count(), [](const NormalizeTask<T>& part) { normalize_gradient_rows(part); });
    }};
  });
});

}  // namespace
}  // namespace graphrun
