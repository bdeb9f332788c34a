// The optimizers' updates on CUDA: one pass over a parameter's elements by the rules of ops/optimizer/table.def. First, one
// thread computes the numbers of the update, because rate, scale and t are on the device.
#include "ops/dispatch.h"
#include "ops/generated/device_functions.h"
#include "ops/optimizer/update.h"
#include "ops/schema.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace update_rules {

using element::select;
using element::sqrt;

template <class T>
GRAPHRUN_DEVICE T mul_add(T a, T b, T c) {
  return a * b + c;
}
template <class T>
GRAPHRUN_DEVICE T neg_mul_add(T a, T b, T c) {
  return c - a * b;
}

#define RULE_FUNCTION GRAPHRUN_DEVICE
#include "ops/optimizer/steps-inl.h"

#define RULE(name, ...)                                                                                            \
  template <class T>                                                                                               \
  GRAPHRUN_DEVICE void load_slots([[maybe_unused]] Rule_##name<T>& rule, [[maybe_unused]] const Task_##name<T>& u, \
                                  [[maybe_unused]] std::int64_t i) {                                               \
    using Slots [[maybe_unused]] = Slots_##name;
#define SLOT(name, ...) rule.name = u.slot[Slots::name][i];
#define END() }
#include "ops/optimizer/table.def"

#define RULE(name, ...)                                                                                                   \
  template <class T>                                                                                                      \
  GRAPHRUN_DEVICE void store_slots([[maybe_unused]] const Rule_##name<T>& rule, [[maybe_unused]] const Task_##name<T>& u, \
                                   [[maybe_unused]] std::int64_t i) {                                                     \
    using Slots [[maybe_unused]] = Slots_##name;
#define SLOT(name, ...) u.slot_next[Slots::name][i] = rule.name;
#define END() }
#include "ops/optimizer/table.def"

template <class T, class Numbers>
struct NumbersBody {
  const T *rate, *count, *scale;  // count, scale: may be null
  typename Numbers::Settings settings;
  Numbers* out;
  GRAPHRUN_DEVICE void operator()(std::int64_t) const {
    *out = Numbers{settings, static_cast<double>(*rate), scale == nullptr ? 1.0 : static_cast<double>(*scale),
                   count == nullptr ? 1.0 : static_cast<double>(*count)};
  }
};

template <template <class> class RuleOf, class T, class Numbers>
struct UpdateBody {
  UpdateTask<T, Numbers> task;
  const Numbers* numbers;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const {
    RuleOf<T> rule{*numbers};
    const T p = task.p[i];
    load_slots(rule, task, i);
    const T g = static_cast<T>(task.l2) * p + static_cast<T>(numbers->scale) * task.g[i];
    task.p_next[i] = p - (static_cast<T>(numbers->rate * task.weight_decay) * p + rule.step(g));
    store_slots(rule, task, i);
  }
};

// Inputs: p, g, the slots, rate, the number of the update if the rule counts, optional factor of the gradient.
template <template <class> class RuleOf, class Numbers, class T>
Kernel update_kernel(const typename Numbers::Settings& settings) {
  constexpr std::size_t kRate = 2 + Numbers::Slots::kCount;
  constexpr bool kCounts = Numbers::Settings::kCounted == Counted::kYes;
  return {[=](const KernelContext& c) {
            auto* numbers = static_cast<Numbers*>(c.workspace);
            const auto scalar = [&](std::size_t i) { return i < c.inputs.size() ? c.inputs[i].as<const T>() : nullptr; };
            cuda::for_elements(c, 1,
                               NumbersBody<T, Numbers>{scalar(kRate), kCounts ? scalar(kRate + 1) : nullptr,
                                                       scalar(kCounts ? kRate + 2 : kRate + 1), settings, numbers});
            UpdateTask<T, Numbers> task;
            task.p = c.inputs[0].as<const T>(), task.g = c.inputs[1].as<const T>(), task.p_next = c.outputs[0].as<T>();
            for (int slot = 0; slot < Numbers::Slots::kCount; ++slot) {
              const auto k = static_cast<std::size_t>(slot);
              task.slot[k] = c.inputs[2 + k].as<const T>();
              task.slot_next[k] = c.outputs[1 + k].as<T>();
            }
            task.l2 = c.attributes->number("l2"), task.weight_decay = c.attributes->number("weight_decay");
            cuda::for_elements(c, c.outputs[0].count(), UpdateBody<RuleOf, T, Numbers>{task, numbers});
          },
          sizeof(Numbers)};
}

#define RULE(name, ...)                                                                                                       \
  REGISTER_KERNEL(#name "_update", kCuda, [](const KernelRequest& request) {                                                  \
    return with_float(request.outputs.at(0).dtype, [&](auto zero) {                                                           \
      return update_kernel<Rule_##name, Numbers_##name, decltype(zero)>(settings_of(*request.attributes, Settings_##name())); \
    });                                                                                                                       \
  });
#include "ops/optimizer/table.def"

}  // namespace update_rules

namespace {

// y = a x + b z. If a is 0, x is not read, since 0 * x would keep values that are not finite.
template <class T, bool average>
struct BlendBody {
  const T *x, *z, *scalar;
  double decay;  // for an average
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
