#include "runtime/execute/execute.h"

#include "runtime/execute/instruction_run.h"
#include "runtime/execute/profiler.h"
#include "runtime/execute/scan_executors.h"
#include "runtime/tensor/backend.h"

namespace graphrun {

void record_time(const BoundInstruction& bound, std::int64_t start, const RunContext& context) {
  if (context.device != nullptr) context.device->backend->wait();
  context.profiler->record(bound.source->name, bound.source->op, start, Profiler::now());
}

void run_region(BoundRegion& region, const RunContext& context) {
  const BoundInstruction* current = nullptr;
  try {
    for (std::size_t i = 0; i < region.instructions.size(); ++i) {
      BoundInstruction& bound = region.instructions[i];
      current = &bound;
      if (bound.concurrent > 0) {
        run_scans(&bound, bound.concurrent + 1, context);
        i += bound.concurrent;
      } else {
        const std::int64_t start = context.profiler == nullptr ? 0 : Profiler::now();
        run_instruction(bound, region.depth, context);
        show(bound, region.depth, context.scan_steps, context);
        if (context.profiler != nullptr) record_time(bound, start, context);
      }
      if (context.progress != nullptr && region.depth == 0) (*context.progress)(i + 1);
    }
  } catch (...) {
    // An error within a scan's body already has its location.
    if (current == nullptr || current->source->kind != Instruction::Kind::kKernel) throw;
    rethrow_from(*current->source);
  }
}

}  // namespace graphrun
