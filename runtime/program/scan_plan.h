// How a scan runs, and why it does not run in a faster way.
#pragma once

#include <cstdint>

namespace graphrun {

struct Instruction;

// Why a loop does not run in a faster way. The code that decides records it; binding_report.h turns it into words.
struct Obstacle {
  enum class Kind : std::uint8_t {
    kNone,
    // For the loop as a whole: `found` is the actual value, `bound` the limit.
    kFewSteps,
    kManyKernels,
    kNoWeights,  // nothing is packed for all steps; `at`, if set: the instruction without a kernel for columns
    kNothingInRows,
    kFewRows,
    kOneThread,
    kLittleWork,  // `at`: the instruction with most of it
    kNarrow,
    kMuchOfRow,
    kArgumentBytes,
    kBlockBytes,
    // For the instruction `at`.
    kLoopInside,
    kNoColumns,       // no kernel for columns
    kNoRows,          // no kernel for rows
    kReadsOtherRows,  // of `value`
    kOtherRowCount,   // `found` rows, where `value`, or if that is -1 what comes before, has `bound`
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
  enum class Way : std::uint8_t {
    kStepByStep,  // step by step, instruction by instruction
    kColumns,     // by threads that share the body by columns, for all steps (runtime/scan/thread_group.h)
    kRows,        // by threads that share it by rows of the batch, for all steps
    kOneLaunch,   // on a device, all steps in one launch (runtime/scan/launch.h)
  } way = Way::kStepByStep;
  int threads = 1;                       // kColumns, kRows
  Obstacle not_by_columns, not_by_rows;  // why it is neither; both are set if it runs step by step
  Obstacle not_more;                     // kColumns, kRows: why there is only one thread
  bool is_shared() const { return way == Way::kColumns || way == Way::kRows; }
};

}  // namespace graphrun
