// The addresses of a running scan: where each step reads its operands and writes its results. Part of execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/execute/execute.h"
#include "runtime/program/bound.h"

namespace graphrun {

class ScanSteps {
 public:
  ScanSteps(const BoundInstruction& instruction, const RunContext& context)
      : scan_(*instruction.scan), inputs_(instruction.inputs()), outputs_(instruction.outputs()), context_(context) {}

  // Before the first step: sets the invariants, and copies the initial values of states that are updated in place.
  void begin() const;
  // After the last step: copies final states to their places elsewhere.
  void finish() const;

  // Sets the invariants of a body, the scan's or that of one of its threads.
  void set_invariants(BoundRegion& body) const;
  // Sets the address of its step number.
  void set_position(BoundRegion& body, const void* position) const {
    body.set_slot(scan_.slots.position(), const_cast<void*>(position));
  }
  // Sets where the k-th step to run reads its operands and writes its results.
  void set_step(BoundRegion& body, std::int64_t k) const;

 private:
  void set_state(BoundRegion& body, std::size_t s, std::int64_t k) const;
  void* written(std::size_t s, std::int64_t k) const;
  void* stacked(std::size_t stack, std::int64_t position) const;

  BoundScan& scan_;
  const std::span<const TensorView> inputs_, outputs_;
  const RunContext& context_;
};

}  // namespace graphrun
