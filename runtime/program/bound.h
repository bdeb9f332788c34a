// A program's regions and instructions with the sizes of one batch: kernels made, and room for every operand's address.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/program/kernel.h"
#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

struct BoundScan;
class LoopKernel;
struct Kept;
struct Team;

struct BoundInstruction {
  const Instruction* source = nullptr;
  Kernel kernel;                     // kKernel
  std::vector<TensorView> operands;  // inputs, then outputs
  void* workspace = nullptr;
  std::int32_t number = 0;          // among those of its binding, from 1 on; what a device names it by
  Kept* kept = nullptr;             // where what its kernel prepares lasts from run to run: instead of the workspace
  std::unique_ptr<BoundScan> scan;  // kScan
  std::size_t beside = 0;           // kScan: how many of the next ones run at the same time

  // Of a copy, which may be that of a view: whether both sides are cut into the same columns.
  bool copies_columns() const {
    const Sizes &from = operands[0].sizes, &to = operands[1].sizes;
    return from.empty() == to.empty() && (to.empty() || from.back() == to.back());
  }
  std::span<const TensorView> inputs() const { return {operands.data(), source->inputs.size()}; }
  std::span<const TensorView> outputs() const { return {operands.data() + source->inputs.size(), source->outputs.size()}; }
};

struct BoundRegion {
  const Region* source = nullptr;
  std::size_t index = 0;  // in Program::regions
  std::size_t depth = 0;  // scans around it
  std::vector<BoundInstruction> instructions;

  // Tells every operand that lies in this slot where that is.
  void set_slot(std::size_t slot, void* data) {
    for (std::size_t i = slot_begin[slot]; i < slot_begin[slot + 1]; ++i) *slot_addresses[i] = data;
  }
  std::vector<std::size_t> slot_begin;  // by slot, and one more
  std::vector<void**> slot_addresses;
};

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

struct BoundScan {
  struct State {
    StateSpec spec;
    std::size_t bytes = 0;
    char* block = nullptr;  // kAlternate
  };
  BoundRegion body;
  std::vector<State> states;
  std::size_t each = 0, stacks = 0;
  std::int64_t steps = 0;
  bool reverse = false;
  std::vector<std::size_t> each_stride, stack_stride;  // bytes from one step to the next
  std::int32_t position = 0;                           // of the step under way: what the body reads as its number
  int row_members = 0;                                 // threads that share the body by rows; 0: none do
  std::unique_ptr<Team> team;                          // where threads share the body (runtime/scan/team.h); else null
  std::shared_ptr<const LoopKernel> loop;  // where a device runs all steps as one launch (runtime/scan/loop.h); else null
  Obstacle not_by_columns, not_by_rows;    // why neither; both are set where it runs kernel by kernel

  BoundScan();
  ~BoundScan();
};

// Where the operands that lie in slots have their addresses. The instructions must not move from here on.
void index_slots(BoundRegion& region);

// Rethrows the exception under way with the node's name and place: a UserError as one, no memory as UserError (kNoRoom),
// anything else as InternalError.
[[noreturn]] void rethrow_from(const Instruction& instruction);

}  // namespace graphrun
