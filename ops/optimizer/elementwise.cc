// The ops of ops/optimizer/table.def and their CPU kernels.
#include "ops/optimizer/update.h"
#include "ops/optimizer/update_op.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

#define RULE(name, counted, source, equations) const OpRegistration op_##name = UpdateOp(#name, counted).Doc(source, equations)
#define SLOT(slot, doc) .Slot(#slot, doc)
#define SETTING(setting, value, range, doc) .Setting(#setting, value, ir::Range::range, doc)
#define FLAG(flag, value, doc) .Flag(#flag, value, doc)
#define END() ;
#include "ops/optimizer/table.def"

// Inputs: p, g, the slots, rate, the number of the update if the rule counts, optional factor of the gradient.
template <class T, class Numbers>
void run_update(const KernelContext& c, const typename Numbers::Settings& settings) {
  constexpr std::size_t kSlots = Numbers::Slots::kCount, kRate = 2 + kSlots;
  constexpr bool kCounts = Numbers::Settings::kCounted == Counted::kYes;
  UpdateTask<T, Numbers> task;
  task.p = c.inputs[0].as<const T>(), task.g = c.inputs[1].as<const T>(), task.p_next = c.outputs[0].as<T>();
  for (std::size_t k = 0; k < kSlots; ++k) {
    task.slot[k] = c.inputs[2 + k].as<const T>();
    task.slot_next[k] = c.outputs[1 + k].as<T>();
  }
  task.l2 = c.attributes->number("l2"), task.weight_decay = c.attributes->number("weight_decay");
  task.numbers = Numbers{settings, scalar_or_one<T>(c, kRate), scalar_or_one<T>(c, kCounts ? kRate + 2 : kRate + 1),
                         kCounts ? scalar_or_one<T>(c, kRate + 1) : 1};
  parallel_ranges(c.outputs[0].count(), kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
    UpdateTask<T, Numbers> part = task;
    part.begin = begin, part.end = end;
    update(part);
  });
}

template <class Numbers>
Kernel update_kernel(const KernelRequest& request) {
  const auto settings = settings_of(*request.attributes, typename Numbers::Settings());
  const auto kernel = [=](auto zero) -> Kernel {
    return {[settings](const KernelContext& c) { run_update<decltype(zero), Numbers>(c, settings); }, 0};
  };
  return request.outputs.at(0).dtype == DType::kFloat32 ? kernel(float{}) : kernel(double{});
}

#define RULE(name, ...) REGISTER_KERNEL(#name "_update", kCpu, update_kernel<Numbers_##name>);
#include "ops/optimizer/table.def"

}  // namespace
}  // namespace graphrun
