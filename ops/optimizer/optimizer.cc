// Optimizer updates as ops: the compiler appends them to a training graph.
#include <cmath>

#include "ops/optimizer/update.h"
#include "ops/schema.h"
#include "runtime/threads.h"

namespace graphrun {
namespace {

using ir::InferContext;

constexpr std::int64_t kGrain = 16384;

void require_scalar(const InferContext& c, std::size_t input) {
  require_type(c, input, Type::kFloat);
  if (c.has(input) && !c.input(input).shape.empty()) {
    throw ir::OpError("E0304 wrong-rank",
                      c.op->name + ": " + c.op->inputs[input].name + " must be a scalar, found " + c.input(input).str());
  }
}

// Inputs [first, last) are FLOAT and of one shape.
void require_one_shape(const InferContext& c, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    require_type(c, i, Type::kFloat);
    if (c.input(i).shape != c.input(first).shape) {
      throw ir::OpError("E0301 shape-mismatch", c.op->name + ": " + c.op->inputs[i].name + " is " + c.input(i).str() +
                                                    ", but " + c.op->inputs[first].name + " " + c.input(first).str());
    }
  }
}

// A scalar operand; 1 where it is absent.
template <class T>
double scalar(const KernelContext& c, std::size_t i) {
  return i < c.inputs.size() && c.inputs[i].present() ? static_cast<double>(*c.inputs[i].as<const T>()) : 1.0;
}

template <class T>
void run_sgd(const KernelContext& c) {
  const SgdUpdate<T> u{c.inputs[0].as<const T>(), c.inputs[1].as<const T>(), c.outputs[0].as<T>(),
                       scalar<T>(c, 2) * scalar<T>(c, 3)};
  parallel_ranges(c.outputs[0].count(), kGrain, [&](std::int64_t begin, std::int64_t end) { update(u, begin, end); });
}

template <class T>
void run_adam(const KernelContext& c) {
  const double t = scalar<T>(c, 5), beta1 = c.attributes->number("beta1"), beta2 = c.attributes->number("beta2");
  AdamUpdate<T> u;
  u.p = c.inputs[0].as<const T>(), u.g = c.inputs[1].as<const T>();
  u.m = c.inputs[2].as<const T>(), u.v = c.inputs[3].as<const T>();
  u.p_next = c.outputs[0].as<T>(), u.m_next = c.outputs[1].as<T>(), u.v_next = c.outputs[2].as<T>();
  u.rate = scalar<T>(c, 4), u.scale = scalar<T>(c, 6);
  u.beta1 = beta1, u.beta2 = beta2, u.epsilon = c.attributes->number("epsilon");
  u.m_factor = 1 / (1 - std::pow(beta1, t)), u.v_factor = 1 / (1 - std::pow(beta2, t));
  parallel_ranges(c.outputs[0].count(), kGrain, [&](std::int64_t begin, std::int64_t end) { update(u, begin, end); });
}

// The kernel for the result's float.
template <void (*for_float)(const KernelContext&), void (*for_double)(const KernelContext&)>
Kernel by_precision(const KernelRequest& request) {
  return {request.outputs.at(0).dtype == DType::kFloat32 ? for_float : for_double, 0};
}

constexpr const char* kScaleDoc = "[] FLOAT: multiplies the gradient (a clip's factor); 1 where absent";

REGISTER_OP("sgd_update", "optimizer")
    .Doc("p' = p - rate * scale * g: a step of stochastic gradient descent.")
    .Input("p", "[...] FLOAT: the parameter")
    .Input("g", "[...] FLOAT: its gradient")
    .Input("rate", "[] FLOAT: the learning rate")
    .OptionalInput("scale", kScaleDoc)
    .Output("p")
    .Update()
    .InPlace(0, 0)
    .NoGradient("an optimizer's update")
    .Shape([](InferContext& c) {
      require_one_shape(c, 0, 2);
      require_scalar(c, 2), require_scalar(c, 3);
      c.outputs = {c.input(0)};
    });
REGISTER_KERNEL("sgd_update", kCpu, by_precision<run_sgd<float>, run_sgd<double>>);

REGISTER_OP("adam_update", "optimizer")
    .Doc(
        "Adam (Kingma & Ba 2015, Algorithm 1), with g' = scale * g:\n"
        "  m' = beta1 m + (1 - beta1) g',  v' = beta2 v + (1 - beta2) g'²,\n"
        "  p' = p - rate * (m' / (1 - beta1ᵗ)) / (√(v' / (1 - beta2ᵗ)) + epsilon).")
    .Input("p", "[...] FLOAT: the parameter")
    .Input("g", "[...] FLOAT: its gradient")
    .Input("m", "[...] FLOAT: the mean of gradients, 0 at first")
    .Input("v", "[...] FLOAT: the mean of their squares, 0 at first")
    .Input("rate", "[] FLOAT: the learning rate")
    .Input("t", "[] FLOAT: the number of this update, 1 for the first")
    .OptionalInput("scale", kScaleDoc)
    .Float("beta1", 0.9, "how slowly m forgets")
    .Float("beta2", 0.999, "how slowly v forgets")
    .Float("epsilon", 1e-8, "keeps the quotient finite")
    .Output("p")
    .Output("m")
    .Output("v")
    .Update()
    .InPlace(0, 0)
    .InPlace(1, 2)
    .InPlace(2, 3)
    .NoGradient("an optimizer's update")
    .Shape([](InferContext& c) {
      require_one_shape(c, 0, 4);
      require_scalar(c, 4), require_scalar(c, 5), require_scalar(c, 6);
      c.outputs = {c.input(0), c.input(2), c.input(3)};
    });
REGISTER_KERNEL("adam_update", kCpu, by_precision<run_adam<float>, run_adam<double>>);

}  // namespace
}  // namespace graphrun
