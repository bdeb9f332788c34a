#include "runtime/scan/thread_group.h"

#include "runtime/scan/columns.h"
#include "runtime/scan/dependence.h"
#include "runtime/scan/rows.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

// A copy of the body with its own instructions; the kernels are shared.
BoundRegion copy_of(const BoundRegion& body) {
  BoundRegion made;
  made.source = body.source, made.index = body.index, made.depth = body.depth;
  made.instructions.reserve(body.instructions.size());
  for (const BoundInstruction& bound : body.instructions) {
    BoundInstruction copy;
    copy.source = bound.source, copy.kernel = bound.kernel, copy.operands = bound.operands, copy.packed = bound.packed;
    made.instructions.push_back(std::move(copy));
  }
  index_slots(made);
  return made;
}

}  // namespace

Share share_of(std::int64_t size, int thread, int threads, std::int64_t step) {
  return {part_begin(size, threads, step, thread), part_begin(size, threads, step, thread + 1)};
}

std::shared_ptr<ThreadGroup> make_thread_group(const BoundScan& scan, const ProgramLayout& layout) {
  const bool by_rows = scan.plan.by_rows() != nullptr;
  const int threads = scan.plan.threads()->count;
  const std::int64_t step = by_rows ? 1 : scan.plan.by_columns()->step;
  auto group = std::make_shared<ThreadGroup>();
  // A single thread needs no barriers.
  group->barrier_before.assign(scan.body.instructions.size(), 0);
  if (!by_rows && threads > 1) group->barrier_before = barriers_before(scan, layout);
  for (int t = 0; t < threads; ++t) {
    auto member = std::make_unique<ThreadGroup::Member>();
    member->body = copy_of(scan.body);
    member->scan_steps.assign(scan.body.depth, 0);
    if (by_rows) member->memory = t * layout.regions[scan.body.index].bytes;
    for (const BoundInstruction& bound : scan.body.instructions) {
      const std::int64_t size = by_rows ? shared_rows(bound) : shared_columns(bound);
      member->shares.push_back(size == 0 ? Share{-1, -1} : share_of(size, t, threads, step));
    }
    group->members.push_back(std::move(member));
  }
  return group;
}

}  // namespace graphrun
