// The optimizers' updates on CUDA, one pass over a parameter's elements. The rules are those of ops/optimizer/update.h; what
// depends on the update's number or the learning rate, which lie on the device, one thread works out ahead.
#include "ops/dispatch.h"
#include "ops/generated/device_functions.h"
#include "ops/optimizer/update.h"
#include "ops/schema.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

// Of one update, in the workspace.
struct Factors {
  double rate, scale, m, v;  // m, v: Adam's 1 / (1 - betaᵗ)
};

template <class T>
struct FactorsBody {
  const T *rate, *count, *scale;  // count, scale: null where there is none
  double beta1, beta2;
  Factors* out;
  GRAPHRUN_DEVICE void operator()(std::int64_t) const {
    const double t = count == nullptr ? 1 : static_cast<double>(*count);
    *out = {static_cast<double>(*rate), scale == nullptr ? 1.0 : static_cast<double>(*scale), 1 / (1 - element::pow(beta1, t)),
            1 / (1 - element::pow(beta2, t))};
  }
};

// A step beside the decay, from the gradient and the slots, which it moves.
template <class T>
GRAPHRUN_DEVICE T step(const SgdRule&, const Factors& f, T g, T*) {
  return static_cast<T>(f.rate) * g;
}
template <class T>
GRAPHRUN_DEVICE T step(const MomentumRule& r, const Factors& f, T g, T* slot) {
  slot[0] = static_cast<T>(r.momentum) * slot[0] + g;
  return static_cast<T>(f.rate) * (r.nesterov ? static_cast<T>(r.momentum) * slot[0] + g : slot[0]);
}
template <class T>
GRAPHRUN_DEVICE T step(const AdagradRule& r, const Factors& f, T g, T* slot) {
  slot[0] = g * g + slot[0];
  return static_cast<T>(f.rate) * g / (element::sqrt(slot[0] + static_cast<T>(r.initial)) + static_cast<T>(r.epsilon));
}
template <class T>
GRAPHRUN_DEVICE T step(const AdadeltaRule& r, const Factors& f, T g, T* slot) {
  const T rho = static_cast<T>(r.rho), rest = static_cast<T>(1 - r.rho), epsilon = static_cast<T>(r.epsilon);
  slot[0] = rho * slot[0] + rest * (g * g);
  const T x = element::sqrt(slot[1] + epsilon) / element::sqrt(slot[0] + epsilon) * g;
  slot[1] = rho * slot[1] + rest * (x * x);
  return static_cast<T>(f.rate) * x;
}
template <class T>
GRAPHRUN_DEVICE T step(const RmspropRule& r, const Factors& f, T g, T* slot) {
  slot[0] = static_cast<T>(r.rho) * slot[0] + static_cast<T>(1 - r.rho) * (g * g);
  return static_cast<T>(f.rate) * g / (element::sqrt(slot[0]) + static_cast<T>(r.epsilon));
}
template <class T>
GRAPHRUN_DEVICE T step(const AdamRule& r, const Factors& f, T g, T* slot) {
  slot[0] = static_cast<T>(r.beta1) * slot[0] + static_cast<T>(1 - r.beta1) * g;
  slot[1] = static_cast<T>(r.beta2) * slot[1] + static_cast<T>(1 - r.beta2) * g * g;
  return static_cast<T>(f.rate) * (slot[0] * static_cast<T>(f.m)) /
         (element::sqrt(slot[1] * static_cast<T>(f.v)) + static_cast<T>(r.epsilon));
}

template <class T, class Rule>
struct UpdateBody {
  UpdateTask<T, Rule> task;
  const Factors* factors;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const {
    const Factors f = *factors;
    const T p = task.p[i];
    T slot[Rule::kSlots + 1];
    for (int k = 0; k < Rule::kSlots; ++k) slot[k] = task.slot[k][i];
    const T g = static_cast<T>(task.l2) * p + static_cast<T>(f.scale) * task.g[i];
    const T moved = step(task.rule, f, g, slot);
    task.p_next[i] = p - (static_cast<T>(f.rate * task.weight_decay) * p + moved);
    for (int k = 0; k < Rule::kSlots; ++k) task.slot_next[k][i] = slot[k];
  }
};

// Inputs p, g, the slots, rate, the update's number where the rule counts, the gradient's factor or none.
template <class T, class Rule>
Kernel update_kernel(const Rule& rule, bool counted, double beta1, double beta2) {
  constexpr std::size_t kRate = 2 + Rule::kSlots;
  const std::size_t scale_at = counted ? kRate + 2 : kRate + 1;
  return {[=](const KernelContext& c) {
            auto* factors = static_cast<Factors*>(c.workspace);
            const auto scalar = [&](std::size_t i) { return i < c.inputs.size() ? c.inputs[i].as<const T>() : nullptr; };
            cuda::for_elements(
                c, 1,
                FactorsBody<T>{scalar(kRate), counted ? scalar(kRate + 1) : nullptr, scalar(scale_at), beta1, beta2, factors});
            UpdateTask<T, Rule> task;
            task.p = c.inputs[0].as<const T>(), task.g = c.inputs[1].as<const T>(), task.p_next = c.outputs[0].as<T>();
            for (int slot = 0; slot < Rule::kSlots; ++slot) {
              const auto k = static_cast<std::size_t>(slot);
              task.slot[k] = c.inputs[2 + k].as<const T>();
              task.slot_next[k] = c.outputs[1 + k].as<T>();
            }
            task.l2 = c.attributes->number("l2"), task.weight_decay = c.attributes->number("weight_decay");
            task.rule = rule;
            cuda::for_elements(c, c.outputs[0].count(), UpdateBody<T, Rule>{task, factors});
          },
          sizeof(Factors)};
}

template <class Rule>
Kernel bind_update(const KernelRequest& request, const Rule& rule, bool counted = false, double beta1 = 0, double beta2 = 0) {
  return with_float(request.outputs.at(0).dtype,
                    [&](auto zero) { return update_kernel<decltype(zero)>(rule, counted, beta1, beta2); });
}

REGISTER_KERNEL("sgd_update", kCuda, [](const KernelRequest& r) { return bind_update(r, SgdRule{}); });
REGISTER_KERNEL("momentum_update", kCuda, [](const KernelRequest& r) {
  return bind_update(r, MomentumRule{r.attributes->number("momentum"), r.attributes->boolean("nesterov")});
});
REGISTER_KERNEL("adagrad_update", kCuda, [](const KernelRequest& r) {
  return bind_update(r, AdagradRule{r.attributes->number("initial"), r.attributes->number("epsilon")});
});
REGISTER_KERNEL("adadelta_update", kCuda, [](const KernelRequest& r) {
  return bind_update(r, AdadeltaRule{r.attributes->number("rho"), r.attributes->number("epsilon")});
});
REGISTER_KERNEL("rmsprop_update", kCuda, [](const KernelRequest& r) {
  return bind_update(r, RmspropRule{r.attributes->number("rho"), r.attributes->number("epsilon")});
});
REGISTER_KERNEL("adam_update", kCuda, [](const KernelRequest& r) {
  const double beta1 = r.attributes->number("beta1"), beta2 = r.attributes->number("beta2");
  return bind_update(r, AdamRule{beta1, beta2, r.attributes->number("epsilon"), 1, 1}, true, beta1, beta2);
});

// y = a x + b z; where a is 0, x is not read: 0 * x would keep what is not finite.
template <class T, bool average>
struct BlendBody {
  const T *x, *z, *scalar;
  double decay;  // of an average
  T* y;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const {
    double a = static_cast<double>(*scalar), b = 1;
    if (average) {
      const double d = 1 - 1 / (a > 1 ? a : 1.0);
      a = d < decay ? d : decay;
      b = 1 - a;
    }
    y[i] = a == 0 ? static_cast<T>(b) * z[i] : static_cast<T>(a) * x[i] + static_cast<T>(b) * z[i];
  }
};

template <bool average>
Kernel bind_blend(const KernelRequest& request) {
  const double decay = average ? request.attributes->number("decay") : 0;
  return with_float(request.outputs.at(0).dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[decay](const KernelContext& c) {
      cuda::for_elements(
          c, c.outputs[0].count(),
          BlendBody<T, average>{c.inputs[0].as<T>(), c.inputs[1].as<T>(), c.inputs[2].as<T>(), decay, c.outputs[0].as<T>()});
    }};
  });
}
REGISTER_KERNEL("sum_update", kCuda, bind_blend<false>);
REGISTER_KERNEL("average_update", kCuda, bind_blend<true>);

}  // namespace
}  // namespace graphrun
