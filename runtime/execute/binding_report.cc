#include "runtime/execute/binding_report.h"

#include <algorithm>
#include <cmath>

#include "runtime/execute/binding.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/program/arena.h"
#include "runtime/scan/dependence.h"
#include "runtime/scan/launch.h"
#include "runtime/scan/thread_group.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

std::string waiting(const std::vector<char>& barrier_before) {
  const auto n = std::count(barrier_before.begin(), barrier_before.end(), 1);
  return n == 0 ? "they never wait for each other"
                : "they wait for each other " + (n == 1 ? std::string("once") : std::to_string(n) + " times") + " a step";
}

std::string number(double n) { return std::to_string(static_cast<std::int64_t>(n)); }

// Why an instruction cannot run by columns: what its kernel says about its operands.
std::string about_columns(const BoundScan& scan, const Instruction* at) {
  for (const BoundInstruction& bound : scan.body.instructions) {
    if (bound.source == at && bound.kernel.no_columns != nullptr) return std::string(", since ") + bound.kernel.no_columns;
  }
  return "";
}

std::string text_of(const Obstacle& obstacle, const BoundScan& scan) {
  using Kind = Obstacle::Kind;
  const std::string found = number(obstacle.found), bound = number(obstacle.bound);
  std::string node, value;
  if (obstacle.at != nullptr) {
    const Instruction& at = *obstacle.at;
    node = "'" + at.name + "' (" +
           (at.kind == Instruction::Kind::kScan ? "a loop"
            : at.op.empty()                     ? "a copy"
                                                : at.op) +
           (at.at.known() ? ", " + at.at.str() : "") + ")";
  }
  if (obstacle.value >= 0) value = "'" + scan.body.source->values[static_cast<std::size_t>(obstacle.value)].name + "'";
  switch (obstacle.kind) {
    case Kind::kNone: return "";
    case Kind::kFewSteps: return "fewer than " + bound + " steps";
    case Kind::kManyKernels: return found + " kernels, more than " + bound;
    case Kind::kNoWeights:
      return "no product has weights that are the same at every step" +
             (obstacle.at == nullptr ? "" : "; " + node + " has no kernel for columns" + about_columns(scan, obstacle.at));
    case Kind::kNothingInRows: return "nothing in it has an axis of rows";
    case Kind::kFewRows:
      return "its work is worth " + bound + " threads, and the batch has " + counted(std::llround(obstacle.found), "row");
    case Kind::kOneThread: return threads() == 1 ? "there is no other" : "concurrent loops have the others";
    case Kind::kLittleWork:
      return "about " + found + " operations " + (scan.plan.by_rows() != nullptr ? "in all steps" : "a step") +
             ", most of them " + node + ", and " + bound + " are worth a second one";
    case Kind::kNarrow:
      return "its results have at most " + counted(std::llround(obstacle.found), "column") + ", and a thread takes " + bound;
    case Kind::kMuchOfRow:
      return "about " + found + " operations for a row, more than the " + bound + " that are left to one block";
    case Kind::kArgumentBytes: return "its launch would have " + found + " bytes of arguments, of at most " + bound;
    case Kind::kBlockBytes: return "a block would need " + found + " bytes of memory, and has " + bound;
    case Kind::kLoopInside: return node + " is inside it";
    case Kind::kNoColumns: return node + " has no kernel for columns" + about_columns(scan, obstacle.at);
    case Kind::kNoRows: return node + " has no kernel for rows";
    case Kind::kReadsOtherRows: return node + " reads other rows of " + value + " than its own";
    case Kind::kOtherRowCount:
      return node + " has " + counted(std::llround(obstacle.found), "row") + ", where " +
             (value.empty() ? "others have " : value + " has ") + bound;
    case Kind::kOneForAllRows: return node + " makes one " + value + " for all rows";
    case Kind::kNoPart: return node + " is no part of a single launch";
    case Kind::kDeep:
      return node + " goes through " + found + " elements for one, more than the " + bound + " that are left to one thread";
  }
  return "";
}

struct Shown {
  const Program& program;
  const ProgramLayout& layout;
};

std::string by_threads(const BoundScan& scan, const ScanPlan::Threads& threads) {
  if (threads.count == 1) return "by one thread: " + text_of(threads.not_more, scan);
  return "by " + counted(threads.count, "thread") +
         (scan.plan.by_rows() != nullptr
              ? "; each has its own rows of the batch; they never wait for each other"
              : "; each has its own columns of every result; " + waiting(threads.group->barrier_before));
}

std::string kernel_by_kernel(const BoundScan& scan, const Shown& shown) {
  if (!shown.program.recurrent_kernels) return "kernel by kernel, without recurrent_kernels";
  const std::string columns = text_of(scan.plan.not_by_columns, scan), rows = text_of(scan.plan.not_by_rows, scan);
  if (rows.empty() || rows == columns) return "kernel by kernel: " + columns;
  return "kernel by kernel: not by columns, since " + columns + "; not by rows, since " + rows;
}

std::string plan(const BoundInstruction& bound, const Shown& shown) {
  const BoundScan& scan = *bound.scan;
  if (scan.steps == 0) return "nothing to do";
  const char* const concurrent = bound.concurrent > 0 ? ", at the same time as the next" : "";
  if (const LoopKernel* const launch = scan.plan.launch()) {
    const bool synchronizes = launch->traits().synchronizes;
    return launch->describe() + "; " + waiting(synchronizes ? barriers_before(scan, shown.layout) : std::vector<char>()) +
           concurrent;
  }
  const ScanPlan::Threads* const threads = scan.plan.threads();
  return (threads != nullptr ? by_threads(scan, *threads) : kernel_by_kernel(scan, shown)) + concurrent;
}

void describe(const BoundRegion& region, const Shown& shown, std::string& text) {
  for (const BoundInstruction& bound : region.instructions) {
    if (!bound.scan) continue;
    text += std::string(2 * (region.depth + 1), ' ') + describe_loop(shown.program, shown.layout, bound) + "\n";
    describe(bound.scan->body, shown, text);
  }
}

void collect_obstacles(const BoundRegion& region, const Shown& shown, std::vector<LoopObstacle>& obstacles) {
  for (const BoundInstruction& bound : region.instructions) {
    if (!bound.scan) continue;
    const BoundScan& scan = *bound.scan;
    if (scan.steps > 0 && scan.plan.launch() == nullptr && scan.plan.threads() == nullptr) {
      const Instruction* const at =
          scan.plan.not_by_columns.at != nullptr ? scan.plan.not_by_columns.at : scan.plan.not_by_rows.at;
      obstacles.push_back({bound.source->name, kernel_by_kernel(scan, shown), at == nullptr ? Location() : at->at});
    }
    collect_obstacles(scan.body, shown, obstacles);
  }
}

}  // namespace

std::string describe_loop(const Program& program, const ProgramLayout& layout, const BoundInstruction& loop) {
  return loop.source->name + ": " + counted(loop.scan->steps, "step") + (loop.scan->reverse ? " backwards" : "") + " of " +
         counted(static_cast<std::int64_t>(loop.scan->body.instructions.size()), "kernel") + ", " +
         plan(loop, {program, layout});
}

std::string describe_loops(const Program& program, const SymbolValues& sizes, Target target) {
  PackedWeightsStore store(program);
  const std::unique_ptr<Binding> binding = bind(program, sizes, target, store);
  std::string text;
  describe(binding->root, {program, binding->layout}, text);
  return text.empty() ? "  there are none\n" : text;
}

std::vector<LoopObstacle> loop_obstacles(const Program& program, const SymbolValues& sizes, Target target) {
  PackedWeightsStore store(program);
  const std::unique_ptr<Binding> binding = bind(program, sizes, target, store);
  std::vector<LoopObstacle> obstacles;
  collect_obstacles(binding->root, {program, binding->layout}, obstacles);
  return obstacles;
}

std::string describe_bound_memory(const Program& program, const SymbolValues& sizes, Target target) {
  PackedWeightsStore store(program);
  const std::int64_t with = bind(program, sizes, target, store)->layout.bytes, without = layout(program, sizes).bytes;
  return "with what kernels work in: " + std::to_string(with) + " bytes (" + std::to_string(with - without) + " more), by " +
         counted(threads(), "thread") +
         "; in memory of their own, packed once until parameters change: " + std::to_string(store.bytes()) + " bytes\n";
}

}  // namespace graphrun
