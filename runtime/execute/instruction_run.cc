#include "runtime/execute/instruction_run.h"

#include <algorithm>
#include <cstring>

#include "runtime/execute/scan_executors.h"
#include "runtime/program/watch.h"
#include "runtime/tensor/backend.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

constexpr double kWorkOfThread = 150e3;  // operations that justify another thread

// Runs a kernel whose constant operands are packed, outside of a thread group.
void run_by_columns(BoundInstruction& bound, const KernelContext& context) {
  const ColumnKernel& kernel = *bound.kernel.by_columns;
  const double each = std::max(1.0, kernel.operations) / static_cast<double>(std::max<std::int64_t>(kernel.columns, 1));
  const auto steps = static_cast<std::int64_t>(kWorkOfThread / each / static_cast<double>(kernel.step)) + 1;
  const std::int64_t grain = std::min(steps * kernel.step, std::max<std::int64_t>(kernel.columns, 1));
  parallel_ranges(kernel.columns, grain, [&](std::int64_t begin, std::int64_t end) { kernel.run(context, begin, end); });
}

}  // namespace

void copy_bytes(const RunContext& context, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || to == from) return;
  context.device == nullptr ? void(std::memcpy(to, from, bytes)) : context.device->backend->copy(to, from, bytes);
}

KernelContext kernel_context(const BoundInstruction& bound, std::size_t depth, const RunContext& context) {
  KernelContext made{&bound.source->attributes,
                     bound.inputs(),
                     bound.outputs(),
                     bound.workspace,
                     {context.seed, context.step, {context.scan_steps, depth}}};
  if (context.device != nullptr) {
    made.stream = context.device->backend->stream();
    made.fault = context.device->fault;
    made.node = bound.number;
    made.random.low_step = context.device->low_step;
  }
  return made;
}

void run_instruction(BoundInstruction& bound, std::size_t depth, const RunContext& context) {
  switch (bound.source->kind) {
    case Instruction::Kind::kKernel:
      if (bound.packed != nullptr) return run_by_columns(bound, kernel_context(bound, depth, context));
      return (bound.prepared ? bound.kernel.prepared->run : bound.kernel.run)(kernel_context(bound, depth, context));
    case Instruction::Kind::kScan: return run_scans(&bound, 1, context);
    case Instruction::Kind::kCopy:
      return copy_bytes(context, bound.operands[1].data, bound.operands[0].data, bound.operands[0].bytes());
  }
}

void show(const BoundInstruction& bound, std::size_t depth, const std::int64_t* scan_steps, const RunContext& context) {
  if (context.watch != nullptr) context.watch->made(*bound.source, bound.outputs(), {scan_steps, depth});
}

std::exception_ptr failure_of(const BoundInstruction* current) {
  if (current == nullptr || current->source->kind != Instruction::Kind::kKernel) return std::current_exception();
  try {
    rethrow_from(*current->source);
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace graphrun
