#include "runtime/scan/launch.h"

#include <algorithm>

namespace graphrun {
namespace {

char* bytes_at(void* data) { return static_cast<char*>(data); }

// The addresses behind a body's slots.
class SlotPlaces {
  using Role = ScanSlots::Role;

 public:
  SlotPlaces(const BoundScan& scan, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             const std::int32_t* positions)
      : scan_(scan), inputs_(inputs), outputs_(outputs), positions_(positions) {}

  LoopPlace of(std::size_t slot) const {
    const auto [role, index] = scan_.slots.at(slot);
    switch (role) {
      case Role::kState: return before(index);
      case Role::kSequence: return sequence(inputs_[slot], scan_.sequence_stride[index]);
      case Role::kInvariant: return fixed(inputs_[slot].data);
      case Role::kPosition: {
        char* const at = bytes_at(const_cast<std::int32_t*>(positions_));
        return {nullptr, at, at, sizeof(std::int32_t), 0};
      }
      case Role::kNextState: return after(index);
      case Role::kStack: break;
    }
    return stack(index);
  }

 private:
  static LoopPlace fixed(void* data) { return {nullptr, bytes_at(data), bytes_at(data), 0, 0}; }
  static LoopPlace sequence(const TensorView& view, std::size_t stride) {
    return {nullptr, bytes_at(view.data), bytes_at(view.data), static_cast<std::int64_t>(stride), 0};
  }
  LoopPlace stack(std::size_t index) const {
    return sequence(outputs_[scan_.slots.stack_output(index)], scan_.stack_stride[index]);
  }
  // Where step k writes the state: alternating, so that the last step writes to the final state's own memory.
  LoopPlace after(std::size_t s) const {
    if (scan_.states[s].spec.mode == StateSpec::Mode::kInPlace) return fixed(outputs_[s].data);
    char *end = bytes_at(outputs_[s].data), *block = scan_.states[s].block;
    const bool last_is_even = (scan_.steps - 1) % 2 == 0;
    return {nullptr, last_is_even ? end : block, last_is_even ? block : end, 0, 0};
  }
  LoopPlace before(std::size_t s) const {
    const BoundScan::State& state = scan_.states[s];
    switch (state.spec.mode) {
      case StateSpec::Mode::kInPlace: return fixed(outputs_[s].data);
      case StateSpec::Mode::kAlternate: {
        const LoopPlace made = after(s);
        return {bytes_at(inputs_[s].data), made.odd, made.even, 0, 0};
      }
      case StateSpec::Mode::kStacked: break;
    }
    LoopPlace place = stack(static_cast<std::size_t>(state.spec.index));
    place.first = bytes_at(inputs_[s].data), place.shift = -1;
    return place;
  }

  const BoundScan& scan_;
  std::span<const TensorView> inputs_, outputs_;
  const std::int32_t* positions_;
};

}  // namespace

bool is_part_of_loop(const BoundInstruction& bound) {
  if (bound.source->kind == Instruction::Kind::kCopy) return bound.copies_columns();
  return !bound.scan && bound.kernel.part != nullptr;
}

std::size_t passed_bytes(const BoundScan& scan) {
  std::size_t bytes = 0;
  for (const BoundInstruction& bound : scan.body.instructions) {
    bytes += bound.kernel.passed_bytes;
  }
  return bytes;
}

LaunchFound find_launch(const BoundScan& scan, const ProgramLayout& layout, const LoopCompiler& compiler,
                        const DeviceLimits& limits) {
  using Kind = Obstacle::Kind;
  const std::vector<BoundInstruction>& body = scan.body.instructions;
  if (scan.steps == 0 || body.empty()) return {};
  const auto other = std::find_if_not(body.begin(), body.end(), is_part_of_loop);
  if (other != body.end()) {
    const Obstacle obstacle{other->scan ? Kind::kLoopInside : Kind::kNoPart, other->source};
    return {nullptr, obstacle, obstacle};
  }
  const auto not_by_columns = std::find_if(body.begin(), body.end(), [](const BoundInstruction& bound) {
    return bound.source->kind != Instruction::Kind::kCopy && bound.kernel.by_columns == nullptr;
  });
  const auto by_rows = [&]() -> LoopChoice {
    const RowSharing rows = row_sharing(scan);
    return rows.obstacle ? LoopChoice{nullptr, rows.obstacle} : compiler.by_rows(scan, rows, limits);
  };
  if (not_by_columns != body.end()) {
    const LoopChoice choice = by_rows();
    return {choice.loop, {Kind::kNoColumns, not_by_columns->source}, choice.obstacle};
  }
  // If a product does not fit, running the products one by one is faster than computing them element by element.
  const LoopChoice columns = compiler.by_columns(scan, layout, limits);
  if (columns.loop == nullptr) return {nullptr, columns.obstacle, {}};
  const LoopKernel::Traits traits = columns.loop->traits();
  if (!limits.row_loops || !traits.synchronizes || traits.rounds) return {columns.loop, {}, {}};
  const LoopChoice rows = by_rows();
  const bool by_rows_is_faster = rows.loop != nullptr && rows.loop->traits().step_cycles < traits.step_cycles;
  return {by_rows_is_faster ? rows.loop : columns.loop, {}, rows.obstacle};
}

LoopRun loop_run(const BoundScan& scan, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                 const std::int32_t* positions, const KernelContext& context) {
  const SlotPlaces slots(scan, inputs, outputs, positions);
  LoopRun run{{}, {}, context};
  for (const BoundInstruction& bound : scan.body.instructions) {
    run.nodes.push_back(bound.number);
    for (std::size_t o = 0; o < bound.operands.size(); ++o) {
      const Storage storage = scan.body.storage_of(bound, o);
      char* const block = bytes_at(bound.operands[o].data);
      run.places.push_back(storage.kind == Storage::Kind::kSlot ? slots.of(static_cast<std::size_t>(storage.index))
                                                                : LoopPlace{nullptr, block, block, 0, 0});
    }
  }
  return run;
}

}  // namespace graphrun
