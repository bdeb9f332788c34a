// Runs single instructions of a bound region. Part of execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "runtime/execute/execute.h"
#include "runtime/program/bound.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// On the device if there is one; from and to may be equal.
void copy_bytes(const RunContext& context, void* to, const void* from, std::size_t bytes);

// The context for a call of the instruction's kernel; `depth`: the number of enclosing scans.
KernelContext kernel_context(const BoundInstruction& bound, std::size_t depth, const RunContext& context);

// Throws whatever its kernel throws.
void run_instruction(BoundInstruction& bound, std::size_t depth, const RunContext& context);

// Passes an instruction's results to the watch, if there is one; `scan_steps`: the positions of the enclosing scans.
void show(const BoundInstruction& bound, std::size_t depth, const std::int64_t* scan_steps, const RunContext& context);

// The current exception, as a region's run would throw it; `current`: the instruction that was running, or null.
std::exception_ptr failure_of(const BoundInstruction* current);

}  // namespace graphrun
