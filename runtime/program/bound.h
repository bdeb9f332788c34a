// A program's regions and instructions, bound to the sizes of one batch: with kernels made, and space for every operand's
// address.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/program/kernel.h"
#include "runtime/program/program.h"
#include "runtime/program/scan_plan.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

struct BoundScan;
struct PackedWeights;

struct BoundInstruction {
  const Instruction* source = nullptr;
  Kernel kernel;                     // kKernel
  std::vector<TensorView> operands;  // inputs, then outputs
  void* workspace = nullptr;
  std::int32_t number = 0;          // within its binding, from 1; how a device identifies it
  PackedWeights* packed = nullptr;  // what its kernel prepares is stored here from run to run, instead of in the workspace
  bool prepared = false;            // its kernel runs in the form Kernel::prepared
  std::unique_ptr<BoundScan> scan;  // kScan
  std::size_t concurrent = 0;       // kScan: how many of the following scans run at the same time

  // For a copy, possibly of a view: whether both sides are divided into the same columns.
  bool copies_columns() const {
    const Sizes &from = operands[0].sizes, &to = operands[1].sizes;
    return from.empty() == to.empty() && (to.empty() || from.back() == to.back());
  }
  std::span<const TensorView> inputs() const { return {operands.data(), source->inputs.size()}; }
  std::span<const TensorView> outputs() const { return {operands.data() + source->inputs.size(), source->outputs.size()}; }
};

struct BoundRegion {
  const Region* source = nullptr;
  std::size_t index = 0;  // in Program::regions
  std::size_t depth = 0;  // the number of enclosing scans
  std::vector<BoundInstruction> instructions;

  // Where an operand of one of its instructions is stored; kNone if it is absent.
  Storage storage_of(const BoundInstruction& bound, std::size_t operand) const {
    const std::int32_t v = bound.source->operand(operand);
    return v < 0 ? Storage{} : source->values[static_cast<std::size_t>(v)].storage;
  }

  // Sets the address of every operand in this slot.
  void set_slot(std::size_t slot, void* data) {
    for (std::size_t i = slot_begin[slot]; i < slot_begin[slot + 1]; ++i) *slot_addresses[i] = data;
  }
  std::vector<std::size_t> slot_begin;  // by slot, plus one final entry
  std::vector<void**> slot_addresses;
};

struct BoundScan {
  struct State {
    StateSpec spec;
    std::size_t bytes = 0;
    char* block = nullptr;  // kAlternate
  };
  BoundRegion body;
  ScanSlots slots;
  std::vector<State> states;
  std::int64_t steps = 0;
  bool reverse = false;
  std::vector<std::size_t> sequence_stride, stack_stride;  // bytes between steps
  std::int32_t position = 0;                               // of the current step: what the body reads as its number
  ScanPlan plan;

  std::int32_t position_of(std::int64_t k) const { return static_cast<std::int32_t>(reverse ? steps - 1 - k : k); }
};

// Builds the index from slots to the operands in them. The instructions must not move afterwards.
void index_slots(BoundRegion& region);

// Rethrows the current exception with the node's name and location: a UserError as a UserError, std::bad_alloc as UserError
// (kNoRoom), anything else as InternalError.
[[noreturn]] void rethrow_from(const Instruction& instruction);

}  // namespace graphrun
