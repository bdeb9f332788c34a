// What the ops of optimizers have in common. One takes the parameter, its gradient, the rule's slots, the learning rate, for
// some the number of the update, and an optional factor of the gradient; it gives the parameter's and the slots' next values:
//
//   update_op("adam_update", {{"m", "…"}, {"v", "…"}}, Counted::kYes).Doc("…").Float("beta1", 0.9, "…")
//
// Training finds them by their names, NAME_update, and reads from the schema what else to hand them (compiler/training.h).
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/optimizer/update.h"
#include "ops/schema.h"
#include "runtime/threads/threads.h"

namespace graphrun {

enum class Counted : bool { kNo, kYes };

// What the doc of every update ends with.
inline const std::string kScaledGradient = "\nwith g' = scale * g + l2 * p.";

OpDefinition update_op(const std::string& name, const std::vector<std::pair<std::string, std::string>>& slots,
                       Counted counted = Counted::kNo);

// An operand that is a FLOAT scalar, or absent; the operands [first, last) are FLOAT and of one shape. Throw ir::OpError.
void require_scalar(const ir::InferContext& c, std::size_t input);
void require_one_shape(const ir::InferContext& c, std::size_t first, std::size_t last);

inline constexpr std::int64_t kUpdateGrain = 16384;  // elements

// A scalar operand; 1 where it is absent.
template <class T>
double scalar_or_one(const KernelContext& c, std::size_t i) {
  return i < c.inputs.size() && c.inputs[i].present() ? static_cast<double>(*c.inputs[i].as<const T>()) : 1.0;
}

template <class T, class Rule>
void run_update(const KernelContext& c, const Rule& rule, std::size_t rate_at, std::size_t scale_at) {
  UpdateTask<T, Rule> task;
  task.p = c.inputs[0].as<const T>(), task.g = c.inputs[1].as<const T>(), task.p_next = c.outputs[0].as<T>();
  for (std::size_t k = 0; k < static_cast<std::size_t>(Rule::kSlots); ++k) {
    task.slot[k] = c.inputs[2 + k].as<const T>();
    task.slot_next[k] = c.outputs[1 + k].as<T>();
  }
  task.rate = scalar_or_one<T>(c, rate_at), task.scale = scalar_or_one<T>(c, scale_at);
  task.l2 = c.attributes->number("l2"), task.weight_decay = c.attributes->number("weight_decay");
  task.rule = rule;
  parallel_ranges(c.outputs[0].count(), kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
    UpdateTask<T, Rule> part = task;
    part.begin = begin, part.end = end;
    update(part);
  });
}

// The kernel of a rule that `make(attributes, t)` makes; t is the number of the update, 1 where the rule does not count.
template <class Make>
Kernel update_kernel(const KernelRequest& request, Counted counted, Make make) {
  using Rule = std::invoke_result_t<Make, const Attributes&, double>;
  const std::size_t rate_at = 2 + Rule::kSlots, count_at = rate_at + 1;
  const std::size_t scale_at = counted == Counted::kYes ? count_at + 1 : count_at;
  const auto kernel = [=](auto zero) -> Kernel {
    using T = decltype(zero);
    return {[=](const KernelContext& c) {
              const double t = counted == Counted::kYes ? scalar_or_one<T>(c, count_at) : 1;
              run_update<T>(c, make(*c.attributes, t), rate_at, scale_at);
            },
            0};
  };
  return request.outputs.at(0).dtype == DType::kFloat32 ? kernel(float{}) : kernel(double{});
}

}  // namespace graphrun
