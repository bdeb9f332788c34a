// Runs single instructions of a bound region. Part of execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "runtime/execute/execute.h"
#include "runtime/program/bound.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// On the device where there is one; from and to may be the same.
void copy_bytes(const RunContext& context, void* to, const void* from, std::size_t bytes);

// What an instruction's kernel is called with; `depth`: scans around it.
KernelContext kernel_context(const BoundInstruction& bound, std::size_t depth, const RunContext& context);

// Throws what its kernel throws.
void run_instruction(BoundInstruction& bound, std::size_t depth, const RunContext& context);

// Shows the watch, if there is one, what an instruction has made; `scan_steps`: the positions of the scans around it.
void show(const BoundInstruction& bound, std::size_t depth, const std::int64_t* scan_steps, const RunContext& context);

// The exception under way as a region's run would throw it; `current`: what was running, or null.
std::exception_ptr failure_of(const BoundInstruction* current);

}  // namespace graphrun
