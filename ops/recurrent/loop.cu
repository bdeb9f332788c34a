// Loops on CUDA: all steps of a scan whose body is products with weights and pointwise work, or pointwise work alone, as one
// launch.
#include <algorithm>

#include "ops/generated/device_launch.h"
#include "ops/recurrent/loop_code.h"
#include "ops/recurrent/loop_device.h"
#include "runtime/device/cuda_library.h"

namespace graphrun {
namespace {

static_assert(sizeof(LoopPlace) == sizeof(loop::Place));  // one is put where the other is read

// Whether an operand's packs of four stand at multiples of their size, at every step.
bool aligned(const LoopPlace& place, std::size_t bytes) {
  const auto fits = [bytes](const char* at) { return reinterpret_cast<std::uintptr_t>(at) % bytes == 0; };
  return fits(place.first) && fits(place.even) && fits(place.odd) &&
         static_cast<std::size_t>(std::abs(place.stride)) % bytes == 0;
}

class DeviceLoop : public LoopKernel {
 public:
  explicit DeviceLoop(LoopCode code) : code_(std::move(code)) {}

  void prepare() const override { kernel_ = cuda::generated_kernel(code_.text().entry, code_.text().text); }

  void run(const LoopRun& run) const override {
    ArgumentBytes arguments(code_.arguments());
    arguments.set_all(code_.places_argument(), std::span(run.places));
    arguments.set_address(code_.counter_argument(), run.context.workspace);
    for (const LoopCode::Member& m : code_.members()) {
      if (m.pointwise == nullptr) continue;
      arguments.set(m.wide, std::int32_t{wide(m, run)});
      set_draws(arguments, *m.pointwise->code, run.context.random,
                [&](Argument own) { return ArgumentLayout::of_struct(m.struct_argument, own); });
    }
    const bool together = code_.meets() && code_.cluster() == 1;
    kernel_->launch(run.context.stream, {code_.blocks(), code_.threads(), code_.shared(), true, together, code_.cluster()},
                    arguments.bytes());
  }

  std::size_t workspace() const override { return code_.workspace(); }
  Traits traits() const override { return {code_.meets(), code_.cluster() > 1, code_.keeps_weights(), code_.row_parts()}; }
  std::string text() const override { return code_.text().text; }
  std::string describe() const override {
    std::int64_t products = 0, resident = 0;
    const char* form = nullptr;
    for (const LoopCode::Member& m : code_.members()) {
      products += m.product != nullptr;
      if (m.rounded != nullptr) form = m.rounded->name;
      resident += m.product != nullptr && m.resident >= 0;
    }
    const std::int64_t clusters = code_.blocks() / code_.cluster();
    std::string text = "as one launch of ";
    if (code_.cluster() > 1) text += std::to_string(clusters) + (clusters == 1 ? " cluster of " : " clusters of ");
    text += std::to_string(code_.cluster() > 1 ? code_.cluster() : code_.blocks()) + " blocks of " +
            std::to_string(code_.threads()) + " threads, " + std::to_string((code_.shared() + 1023) / 1024) + " KiB each";
    if (code_.row_parts() > 1) text += ", in " + std::to_string(code_.row_parts()) + " parts of the rows";
    if (products == 0) return text;
    text += ", with the weights of " + std::to_string(resident) + " of " + std::to_string(products) + " products in it";
    if (!code_.passed().empty()) text += ", " + std::to_string(code_.passed().size()) + " passed from block to block";
    if (form == nullptr) return text;
    return text + ", on matrix units in " + form;
  }

 private:
  static bool wide(const LoopCode::Member& m, const LoopRun& run) {
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

  const LoopCode code_;
  mutable std::shared_ptr<cuda::GeneratedKernel> kernel_;
};

[[maybe_unused]] const bool loop_registered = [] {
  set_loop_factory([](const BoundScan& scan, const ProgramLayout& layout, int sharing) -> LoopChoice {
    LoopCode code(scan, layout, share_of(cuda_device().limits(), sharing));
    const std::size_t bytes = code.arguments().bytes();
    if (const Obstacle many = argument_obstacle(bytes, ArgumentBytes::kMostBytes)) return {nullptr, many};
    if (const Obstacle obstacle = code.obstacle()) return {nullptr, obstacle};
    return {std::make_shared<DeviceLoop>(std::move(code)), {}};
  });
  return true;
}();

}  // namespace
}  // namespace graphrun
