// How a scan runs, and why it does not run in a faster way.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>

namespace graphrun {

struct Instruction;
struct ThreadGroup;
class LoopKernel;

// Why a loop does not run in a faster way. The code that decides records it; binding_report.h turns it into words.
struct Obstacle {
  enum class Kind : std::uint8_t {
    kNone,
    // For the loop as a whole: `found` is the actual value, `bound` the limit.
    kFewSteps,       // in steps
    kManyKernels,    // in instructions
    kNoWeights,      // nothing is packed for all steps; `at`, if set: the instruction without a kernel for columns
    kNothingInRows,  // no operand or result of the body has an axis of rows
    kFewRows,        // `found` rows of the batch, enough work for `bound` threads
    kOneThread,
    kLittleWork,     // in arithmetic operations; `at`: the instruction with most of it
    kNarrow,         // `found` columns of the widest result; a thread takes `bound` at least
    kMuchOfRow,      // in arithmetic operations of one row, all of which one block computes
    kArgumentBytes,  // of a launch
    kBlockBytes,     // `found` bytes of shared memory, of which a block has `bound`
    // For the instruction `at`.
    kLoopInside,
    kNoColumns,       // no kernel for columns
    kNoRows,          // no kernel for rows
    kReadsOtherRows,  // of `value`
    kOtherRowCount,   // `found` rows, but `value` has `bound`; if that is -1, the instructions before it have
    kOneForAllRows,   // a result that all threads would write to one place
    kNoPart,          // a launch cannot contain this instruction
    kDeep,            // each element reduces too many others for one thread
  } kind = Kind::kNone;
  const Instruction* at = nullptr;
  std::int32_t value = -1;  // a value of the body
  double found = 0, bound = 0;

  explicit operator bool() const { return kind != Kind::kNone; }
  // None where `found` is at most `bound`.
  static Obstacle beyond(Kind kind, double found, double bound, const Instruction* at = nullptr) {
    return found > bound ? Obstacle{kind, at, -1, found, bound} : Obstacle{};
  }
};

// How the steps of a scan run.
struct ScanPlan {
  // One by one, instruction by instruction.
  struct StepByStep {};
  // By threads that share the body for all steps (runtime/scan/thread_group.h).
  struct Threads {
    int count = 1;
    Obstacle not_more;                   // why there is only one
    std::shared_ptr<ThreadGroup> group;  // made once the body has its place in memory
  };
  // Each has columns of every result, in multiples of `step`.
  struct ByColumns : Threads {
    std::int64_t step = 1;
  };
  // Each has rows of the batch.
  struct ByRows : Threads {};
  // On a device, all in one launch (runtime/scan/launch.h).
  using Launch = std::shared_ptr<const LoopKernel>;

  std::variant<StepByStep, ByColumns, ByRows, Launch> way;
  Obstacle not_by_columns, not_by_rows;  // why it is neither; both are set if it runs step by step

  // Null if it runs in another way.
  const ByColumns* by_columns() const { return std::get_if<ByColumns>(&way); }
  const ByRows* by_rows() const { return std::get_if<ByRows>(&way); }
  Threads* threads() {
    if (ByRows* const rows = std::get_if<ByRows>(&way)) return rows;
    return std::get_if<ByColumns>(&way);
  }
  const Threads* threads() const { return const_cast<ScanPlan*>(this)->threads(); }
  const LoopKernel* launch() const {
    const Launch* const launch = std::get_if<Launch>(&way);
    return launch == nullptr ? nullptr : launch->get();
  }
};

}  // namespace graphrun
