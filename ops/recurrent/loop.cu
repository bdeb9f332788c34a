// Loops on CUDA: all steps of a scan as one launch, if its body consists of products with weights, pointwise work and moves of
// elements, or some of these.
#include <algorithm>

#include "ops/generated/device_launch.h"
#include "ops/recurrent/launches.h"
#include "ops/recurrent/loop_device.h"
#include "ops/recurrent/loop_text.h"

namespace graphrun {
namespace {

static_assert(sizeof(LoopPlace) == sizeof(loop::Place));  // the host writes one, the device reads the other
static_assert(sizeof(IndexFault) == sizeof(loop::FaultPlace));

// Whether an operand's packs of four are aligned to their size at every step.
bool aligned(const LoopPlace& place, std::size_t bytes) {
  const auto fits = [bytes](const char* at) { return reinterpret_cast<std::uintptr_t>(at) % bytes == 0; };
  return fits(place.first) && fits(place.even) && fits(place.odd) &&
         static_cast<std::size_t>(std::abs(place.stride)) % bytes == 0;
}

class DeviceLoop : public LoopKernel {
 public:
  explicit DeviceLoop(LoopPlan plan) : plan_(std::move(plan)), text_(loop_text(plan_)) {}
  std::size_t argument_bytes() const { return text_.arguments.bytes(); }

  void prepare() const override { kernel_ = cuda::generated_kernel(text_.entry, text_.text); }

  void run(const LoopRun& run) const override {
    ArgumentBytes arguments(text_.arguments);
    arguments.set_all(text_.places, std::span(run.places));
    arguments.set_address(text_.counter, run.context.workspace);
    if (text_.records_faults) arguments.set_address(text_.fault, run.context.fault);
    for (std::size_t i = 0; i < plan_.members.size(); ++i) {
      const LoopPlan::LoopMember& m = plan_.members[i];
      if (m.element != nullptr) arguments.set(text_.members[i].node, run.nodes[i]);
      if (m.pointwise == nullptr) continue;
      arguments.set(text_.members[i].wide, std::int32_t{wide(m, run)});
      set_draws(arguments, *m.pointwise->code, run.context.random,
                [&](Argument own) { return ArgumentLayout::of_struct(text_.members[i].part, own); });
    }
    const bool together = plan_.synchronizes() && plan_.cluster() == 1;
    kernel_->launch(run.context.stream, {plan_.blocks(), plan_.threads, plan_.shared(), true, together, plan_.cluster()},
                    arguments.bytes());
  }

  std::size_t workspace() const override { return plan_.workspace(); }
  Traits traits() const override {
    return {plan_.synchronizes(),   plan_.cluster() > 1, plan_.keeps_weights(),
            plan_.grid_row_parts(), plan_.rounds(),      plan_.step_cycles};
  }
  std::string text() const override { return commented_loop_text(plan_); }
  std::string describe() const override {
    std::int64_t products = 0, resident = 0;
    const char* form = nullptr;
    for (const LoopPlan::LoopMember& m : plan_.members) {
      products += m.product != nullptr;
      if (m.form != nullptr) form = m.form->name;
      resident += m.product != nullptr && m.resident >= 0;
    }
    const std::int64_t clusters = plan_.blocks() / plan_.cluster();
    std::string text = "as one launch of ";
    if (plan_.cluster() > 1) text += std::to_string(clusters) + (clusters == 1 ? " cluster of " : " clusters of ");
    text += std::to_string(plan_.cluster() > 1 ? plan_.cluster() : plan_.blocks()) + " blocks of " +
            std::to_string(plan_.threads) + " threads, " + std::to_string((plan_.shared() + 1023) / 1024) + " KiB each";
    if (plan_.grid_row_parts() > 1) text += ", in " + std::to_string(plan_.grid_row_parts()) + " parts of the rows";
    if (products == 0) return text;
    text += ", with the weights of " + std::to_string(resident) + " of " + std::to_string(products) + " products in it";
    if (!plan_.passed.empty()) text += ", " + std::to_string(plan_.passed.size()) + " passed from block to block";
    if (form == nullptr) return text;
    return text + ", on matrix units in " + form;
  }

 private:
  static bool wide(const LoopPlan::LoopMember& m, const LoopRun& run) {
    if (m.columns % 4 != 0) return false;
    const DeviceCode& code = *m.pointwise->code;
    for (std::size_t k = 0; k < m.inputs; ++k) {
      if (code.reads_packs(k) && !aligned(run.places[m.place + k], 4 * size_of(code.dtype_of_input(k)))) return false;
    }
    for (std::size_t r = 0; r < m.outputs; ++r) {
      if (!aligned(run.places[m.place + m.inputs + r], 4 * size_of(code.dtype_of_result(r)))) return false;
    }
    return true;
  }

  const LoopPlan plan_;
  const LoopText text_;
  mutable std::shared_ptr<cuda::GeneratedKernel> kernel_;
};

}  // namespace

LoopChoice launch_by_columns(const BoundScan& scan, const ProgramLayout& layout, const DeviceLimits& limits) {
  LoopPlan plan = plan_loop(scan, layout, limits);
  if (const Obstacle obstacle = plan.obstacle()) return {nullptr, obstacle};
  auto loop = std::make_shared<DeviceLoop>(std::move(plan));
  if (const Obstacle many = argument_obstacle(loop->argument_bytes(), ArgumentBytes::kMostBytes)) return {nullptr, many};
  return {std::move(loop), {}};
}

}  // namespace graphrun
