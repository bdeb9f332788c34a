// How a scan runs, and what keeps it from running in a better way.
#pragma once

#include <cstdint>

namespace graphrun {

struct Instruction;

// What keeps a loop from being run in a better way. What decides how it runs says so; binding_report.h puts it in words.
struct Obstacle {
  enum class Kind : std::uint8_t {
    kNone,
    // Of the loop as a whole: `found` is what it has, `bound` what it may or must have.
    kFewSteps,
    kManyKernels,
    kNoWeights,  // nothing is prepared for all steps; `at`, where there is one: what has no kernel for columns
    kNothingInRows,
    kFewRows,
    kOneThread,
    kLittleWork,  // `at`: what takes most of it
    kNarrow,
    kMuchOfRow,
    kArgumentBytes,
    kBlockBytes,
    // Of the instruction `at`.
    kLoopInside,
    kNoColumns,       // no kernel for columns
    kNoRows,          // no kernel for rows
    kReadsOtherRows,  // of `value`
    kOtherRowCount,   // `found` rows, where `value`, or if that is -1 what comes before, has `bound`
    kOneForAllRows,   // a result that all threads would write to one place
    kNoPart,          // nothing that a launch can have as a part
    kDeep,            // of one element
  } kind = Kind::kNone;
  const Instruction* at = nullptr;
  std::int32_t value = -1;  // of the body
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
    kColumns,     // by threads that share the body by columns for all steps (runtime/scan/thread_group.h)
    kRows,        // by threads that share it by rows of the batch, likewise
    kOneLaunch,   // by a device, all steps as one launch (runtime/scan/launch.h)
  } way = Way::kStepByStep;
  int threads = 1;                       // kColumns, kRows
  Obstacle not_by_columns, not_by_rows;  // why it is neither; both are set where it runs step by step
  Obstacle not_more;                     // kColumns, kRows: why there is one thread alone
  bool is_shared() const { return way == Way::kColumns || way == Way::kRows; }
};

}  // namespace graphrun
