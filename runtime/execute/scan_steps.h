// A scan under way: where each of its steps finds its operands and leaves its results. Part of execute.
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

  // Before the first step: what stays the same at every step, and the begins of states that are updated in place.
  void begin() const;
  // After the last one: ends that lie elsewhere.
  void finish() const;

  // Where a body, that of the scan or of one of its threads, finds what stays the same at every step.
  void set_invariants(BoundRegion& body) const;
  // Where it finds its step's number.
  void set_position(BoundRegion& body, const void* position) const {
    body.set_slot(scan_.slots.position(), const_cast<void*>(position));
  }
  // Where the k-th step to run finds its operands and leaves its results.
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
