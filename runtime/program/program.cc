#include "runtime/program/program.h"

namespace graphrun {

ScanSlots::Slot ScanSlots::at(std::size_t slot) const {
  if (slot < states) return {Role::kState, slot};
  if (slot < invariant(0)) return {Role::kSequence, slot - sequence(0)};
  if (slot < position()) return {Role::kInvariant, slot - invariant(0)};
  if (slot == position()) return {Role::kPosition, 0};
  if (slot < stack(0)) return {Role::kNextState, slot - next_state(0)};
  return {Role::kStack, slot - stack(0)};
}

ScanSlots slots_of(const Instruction& scan) {
  ScanSlots slots;
  slots.states = scan.scan.states.size();
  slots.sequences = static_cast<std::size_t>(scan.scan.sequences);
  slots.invariants = scan.inputs.size() - slots.states - slots.sequences;
  slots.stacks = scan.outputs.size() - slots.states;
  return slots;
}

std::vector<std::size_t> last_writes(const Program& program) {
  std::vector<std::size_t> last(program.variables.size(), 0);
  const Region& root = program.regions.front();
  for (std::size_t i = 0; i < root.instructions.size(); ++i) {
    for (const std::int32_t output : root.instructions[i].outputs) {
      if (output < 0) continue;
      const Storage& storage = root.values[static_cast<std::size_t>(output)].storage;
      const auto slot = static_cast<std::size_t>(storage.index);
      if (storage.kind == Storage::Kind::kSlot && slot < last.size()) last[slot] = i + 1;
    }
  }
  return last;
}

}  // namespace graphrun
