// Loops by rows on CUDA: all steps of a scan in which no row reads another, as one launch.
#include "ops/generated/device_launch.h"
#include "ops/recurrent/launches.h"
#include "ops/recurrent/row_loop_device.h"
#include "ops/recurrent/row_loop_text.h"

namespace graphrun {
namespace {

static_assert(sizeof(IndexFault) == sizeof(loop::FaultPlace));  // the device writes one, the host reads the other

class DeviceRowLoop : public LoopKernel {
 public:
  explicit DeviceRowLoop(RowLoopPlan plan) : plan_(std::move(plan)), text_(row_loop_text(plan_)) {}
  std::size_t argument_bytes() const { return text_.arguments.bytes(); }

  void prepare() const override { kernel_ = cuda::generated_kernel(text_.entry, text_.text); }

  void run(const LoopRun& run) const override {
    ArgumentBytes arguments(text_.arguments);
    std::vector<LoopPlace> places;
    for (std::size_t place : plan_.places) places.push_back(run.places[place]);
    arguments.set_all(text_.places, std::span<const LoopPlace>(places));
    arguments.set_address(text_.fault, run.context.fault);
    for (std::size_t i = 0; i < text_.members.size(); ++i) {
      const RowLoopText::RowMemberText& m = text_.members[i];
      arguments.set(m.node, run.nodes[i]);
      if (m.element.code == nullptr) continue;
      set_draws(arguments, *m.element.code, run.context.random,
                [&](Argument own) { return ArgumentLayout::of_struct(m.part, own); });
    }
    kernel_->launch(run.context.stream, {plan_.blocks, plan_.threads, plan_.shared}, arguments.bytes());
  }

  Traits traits() const override { return {false, false, true, 1, false, plan_.step_cycles}; }
  std::string text() const override { return commented_row_loop_text(plan_); }
  std::string describe() const override {
    return "as one launch of " + std::to_string(plan_.blocks) + " blocks of " + std::to_string(plan_.threads) +
           " threads; each block has its own rows of the batch";
  }

 private:
  const RowLoopPlan plan_;
  const RowLoopText text_;
  mutable std::shared_ptr<cuda::GeneratedKernel> kernel_;
};

}  // namespace

LoopChoice launch_by_rows(const BoundScan& scan, const RowSharing& rows, const DeviceLimits& limits) {
  if (const Obstacle obstacle = row_loop_obstacle(scan, rows)) return {nullptr, obstacle};
  RowLoopPlan plan = plan_row_loop(scan, rows, limits);
  if (const Obstacle obstacle = plan.obstacle()) return {nullptr, obstacle};
  auto loop = std::make_shared<DeviceRowLoop>(std::move(plan));
  if (const Obstacle many = argument_obstacle(loop->argument_bytes(), ArgumentBytes::kMostBytes)) return {nullptr, many};
  return {std::move(loop), {}};
}

}  // namespace graphrun
