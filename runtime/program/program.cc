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

}  // namespace graphrun
