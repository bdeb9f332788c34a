// Loops by rows on CUDA: all steps of a scan no row of which reads another, as one launch.
#include "ops/generated/device_launch.h"
#include "ops/recurrent/row_loop_code.h"
#include "ops/recurrent/row_loop_device.h"
#include "runtime/device/cuda_library.h"

namespace graphrun {
namespace {

static_assert(sizeof(IndexFault) == sizeof(loop::FaultPlace));  // one is put where the other is read

class DeviceRowLoop : public LoopKernel {
 public:
  explicit DeviceRowLoop(RowLoopCode code) : code_(std::move(code)) {}

  void prepare() const override { kernel_ = cuda::generated_kernel(code_.text().entry, code_.text().text); }

  void run(const LoopRun& run) const override {
    ArgumentBytes arguments(code_.arguments());
    std::vector<LoopPlace> places;
    for (std::size_t place : code_.places()) places.push_back(run.places[place]);
    arguments.set_all(code_.places_argument(), std::span<const LoopPlace>(places));
    arguments.set_address(code_.fault_argument(), run.context.fault);
    for (std::size_t i = 0; i < code_.members().size(); ++i) {
      const RowLoopCode::Member& m = code_.members()[i];
      arguments.set(m.node, run.nodes[i]);
      if (m.element.code == nullptr) continue;
      set_draws(arguments, *m.element.code, run.context.random,
                [&](Argument own) { return ArgumentLayout::of_struct(m.struct_argument, own); });
    }
    kernel_->launch(run.context.stream, {code_.blocks(), code_.threads(), code_.shared()}, arguments.bytes());
  }

  Traits traits() const override { return {false, false, true}; }
  std::string text() const override { return code_.text().text; }
  std::string describe() const override {
    return "as one launch of " + std::to_string(code_.blocks()) + " blocks of " + std::to_string(code_.threads()) +
           " threads, rows of the batch each";
  }

 private:
  const RowLoopCode code_;
  mutable std::shared_ptr<cuda::GeneratedKernel> kernel_;
};

[[maybe_unused]] const bool row_loop_registered = [] {
  set_row_loop_factory([](const BoundScan& scan, const RowSharing& rows) -> LoopChoice {
    if (const Obstacle obstacle = RowLoopCode::obstacle_to(scan, rows)) return {nullptr, obstacle};
    RowLoopCode code(scan, rows, cuda_device().limits());
    if (const Obstacle obstacle = code.obstacle()) return {nullptr, obstacle};
    const std::size_t bytes = code.arguments().bytes();
    if (const Obstacle many = argument_obstacle(bytes, ArgumentBytes::kMostBytes)) return {nullptr, many};
    return {std::make_shared<DeviceRowLoop>(std::move(code)), {}};
  });
  return true;
}();

}  // namespace
}  // namespace graphrun
