#include "runtime/execute/scan_steps.h"

#include "runtime/execute/instruction_run.h"

namespace graphrun {
namespace {

char* slice(const TensorView& sequence, std::size_t stride, std::int64_t position) {
  if (!sequence.present()) return nullptr;  // a stack that nothing reads
  return static_cast<char*>(sequence.data) + stride * static_cast<std::size_t>(position);
}

}  // namespace

void ScanSteps::begin() const {
  set_invariants(scan_.body);
  set_position(scan_.body, &scan_.position);
  for (std::size_t s = 0; s < scan_.states.size(); ++s) {
    if (scan_.states[s].spec.mode != StateSpec::Mode::kInPlace) continue;
    copy_bytes(context_, outputs_[s].data, inputs_[s].data, scan_.states[s].bytes);
  }
}

void ScanSteps::finish() const {
  for (std::size_t s = 0; s < scan_.states.size(); ++s) {
    const BoundScan::State& state = scan_.states[s];
    if (!outputs_[s].present()) continue;
    if (scan_.steps == 0) {
      copy_bytes(context_, outputs_[s].data, inputs_[s].data, state.bytes);
    } else if (state.spec.mode == StateSpec::Mode::kStacked) {
      const std::int32_t last = scan_.position_of(scan_.steps - 1);
      copy_bytes(context_, outputs_[s].data, stacked(static_cast<std::size_t>(state.spec.index), last), state.bytes);
    }
  }
}

void ScanSteps::set_invariants(BoundRegion& body) const {
  for (std::size_t slot = scan_.slots.invariant(0); slot < scan_.slots.position(); ++slot) {
    body.set_slot(slot, inputs_[slot].data);
  }
}

void ScanSteps::set_step(BoundRegion& body, std::int64_t k) const {
  const std::int32_t position = scan_.position_of(k);
  const ScanSlots& slots = scan_.slots;
  for (std::size_t i = 0; i < slots.sequences; ++i) {
    const std::size_t slot = slots.sequence(i);
    body.set_slot(slot, slice(inputs_[slot], scan_.sequence_stride[i], position));
  }
  for (std::size_t s = 0; s < slots.states; ++s) set_state(body, s, k);
  for (std::size_t i = 0; i < slots.stacks; ++i) body.set_slot(slots.stack(i), stacked(i, position));
}

// Sets where the k-th step to run reads state s and writes its next value.
void ScanSteps::set_state(BoundRegion& body, std::size_t s, std::int64_t k) const {
  const StateSpec& spec = scan_.states[s].spec;
  switch (spec.mode) {
    case StateSpec::Mode::kInPlace: return body.set_slot(s, outputs_[s].data);
    case StateSpec::Mode::kAlternate:
      body.set_slot(s, k == 0 ? inputs_[s].data : written(s, k - 1));
      return body.set_slot(scan_.slots.next_state(s), written(s, k));
    case StateSpec::Mode::kStacked:
      return body.set_slot(s,
                           k == 0 ? inputs_[s].data : stacked(static_cast<std::size_t>(spec.index), scan_.position_of(k - 1)));
  }
}

// Alternates, so that the last step writes to the final state's own memory.
void* ScanSteps::written(std::size_t s, std::int64_t k) const {
  return (scan_.steps - 1 - k) % 2 == 0 ? outputs_[s].data : scan_.states[s].block;
}

void* ScanSteps::stacked(std::size_t stack, std::int64_t position) const {
  return slice(outputs_[scan_.slots.stack_output(stack)], scan_.stack_stride[stack], position);
}

}  // namespace graphrun
