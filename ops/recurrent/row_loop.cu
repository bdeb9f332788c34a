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
  DeviceRowLoop(RowLoopCode code, std::vector<std::shared_ptr<const LoopPart>> parts)
      : code_(std::move(code)), parts_(std::move(parts)) {}

  void prepare() const override { kernel_ = cuda::generated_kernel(code_.text().entry, code_.text().text); }

  void run(const LoopRun& run) const override {
    cuda::ArgumentBytes arguments;
    for (std::size_t place : code_.places()) arguments.put(run.places[place]);
    for (const RowLoopCode::Member& m : code_.members()) {
      put_part(arguments, m, run.context.random);
      arguments.align();
    }
    arguments.put(run.context.fault);
    arguments.put(code_.steps());
    arguments.put(code_.rows());
    arguments.put(static_cast<std::int32_t>(code_.reverse()));
    for (std::size_t i = 0; i < code_.members().size(); ++i) {
      arguments.put(code_.members()[i].each);
      arguments.put(run.nodes[i]);
    }
    kernel_->launch(run.context.stream, {code_.blocks(), code_.threads(), code_.shared()}, arguments.data());
  }

  Traits traits() const override { return {false, false, true}; }
  std::string describe() const override {
    return "as one launch of " + std::to_string(code_.blocks()) + " blocks of " + std::to_string(code_.threads()) +
           " threads, rows of the batch each";
  }

  // Bytes of a launch's arguments, at most.
  static std::size_t most_argument_bytes(const RowLoopCode& code) {
    std::size_t bytes = 64 + code.places().size() * sizeof(LoopPlace);
    for (const RowLoopCode::Member& m : code.members()) {
      bytes += (m.inputs + m.outputs) * sizeof(void*) + 40;
      if (const DeviceCode* pointwise = code_of(m.part)) {
        for (const DeviceCode::Operand& operand : pointwise->operands())
          bytes += operand.kind == DeviceCode::Operand::Kind::kDraw ? sizeof(element::DrawnTensor) : sizeof(void*);
      }
      if (const auto* product = dynamic_cast<const ProductPart*>(m.part)) bytes += product->group.products.size() * 8;
      if (const auto* element = dynamic_cast<const ElementPart*>(m.part)) bytes += element->numbers.size() * 8;
    }
    return bytes;
  }

 private:
  static const DeviceCode* code_of(const LoopPart* part) {
    if (const auto* pointwise = dynamic_cast<const PointwisePart*>(part)) return pointwise->code.get();
    if (const auto* reduction = dynamic_cast<const ReductionPart*>(part)) return reduction->code.get();
    return nullptr;
  }

  // Addresses come with the step.
  static void put_part(cuda::ArgumentBytes& to, const RowLoopCode::Member& m, const RandomState& random) {
    const void* const nowhere = nullptr;
    if (const DeviceCode* code = code_of(m.part)) {
      put_operands(to, *code, {}, random);
      if (const auto* reduction = dynamic_cast<const ReductionPart*>(m.part)) to.put(reduction->view);
      for (std::size_t r = 0; r < m.outputs; ++r) to.put(nowhere);
      return;
    }
    for (std::size_t o = 0; o < m.inputs + m.outputs; ++o) to.put(nowhere);
    if (const auto* product = dynamic_cast<const ProductPart*>(m.part)) {
      to.put(product->group.products[0].n);
      for (const Product& p : product->group.products) to.put(p.k);
    } else if (const auto* element = dynamic_cast<const ElementPart*>(m.part)) {
      for (std::int64_t number : element->numbers) to.put(number);
    }
  }

  const RowLoopCode code_;
  const std::vector<std::shared_ptr<const LoopPart>> parts_;  // that the code's members point to
  mutable std::shared_ptr<cuda::GeneratedKernel> kernel_;
};

[[maybe_unused]] const bool row_loop_registered = [] {
  set_row_loop_factory([](const BoundScan& scan, const RowSharing& rows) -> LoopChoice {
    if (const Obstacle obstacle = RowLoopCode::obstacle_to(scan, rows)) return {nullptr, obstacle};
    RowLoopCode code(scan, rows, cuda_device().limits());
    if (const Obstacle obstacle = code.obstacle()) return {nullptr, obstacle};
    const std::size_t bytes = DeviceRowLoop::most_argument_bytes(code);
    if (const Obstacle many = argument_obstacle(bytes, cuda::ArgumentBytes::kMostBytes)) return {nullptr, many};
    std::vector<std::shared_ptr<const LoopPart>> parts;
    for (const BoundInstruction& bound : scan.body.instructions) parts.push_back(bound.kernel.part);
    return {std::make_shared<DeviceRowLoop>(std::move(code), std::move(parts)), {}};
  });
  return true;
}();

}  // namespace
}  // namespace graphrun
