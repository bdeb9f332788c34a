// Runs the steps of scans, each in the way of its plan. Part of execute.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <variant>

#include "runtime/execute/execute.h"
#include "runtime/execute/scan_steps.h"
#include "runtime/program/bound.h"
#include "runtime/scan/barrier.h"
#include "runtime/scan/thread_group.h"

namespace graphrun {

// A scan under way. One thread calls begin; each of threads() calls run with its number, from 0 on, or one thread calls
// run_all; then one calls finish, which throws what a step has thrown.
class ScanExecutor {
 public:
  ScanExecutor(const BoundInstruction& instruction, const RunContext& context)
      : instruction_(instruction), scan_(*instruction.scan), context_(context), steps_(instruction, context_) {}
  virtual ~ScanExecutor() = default;
  ScanExecutor(const ScanExecutor&) = delete;
  ScanExecutor& operator=(const ScanExecutor&) = delete;

  void begin() { steps_.begin(); }
  virtual int threads() const { return 1; }
  virtual void run(int thread) = 0;
  virtual void run_all() { run(0); }
  virtual void finish() { steps_.finish(); }

 protected:
  const BoundInstruction& instruction_;
  BoundScan& scan_;
  const RunContext context_;
  const ScanSteps steps_;
};

// Step by step, instruction by instruction.
class StepByStep final : public ScanExecutor {
 public:
  using ScanExecutor::ScanExecutor;
  void run(int thread) override;
};

// All steps as one launch of a device.
class OneLaunch final : public ScanExecutor {
 public:
  using ScanExecutor::ScanExecutor;
  void run(int thread) override;
};

// By a thread group, whose threads stay in the body for all steps.
class SharedByThreads : public ScanExecutor {
 public:
  SharedByThreads(const BoundInstruction& instruction, const RunContext& context)
      : ScanExecutor(instruction, context), group_(*scan_.group), barrier_(SharedByThreads::threads()) {}

  int threads() const override { return static_cast<int>(group_.members.size()); }
  void run(int thread) override { run_members(thread, 1, &barrier_); }
  void run_all() override { run_members(0, threads(), nullptr); }
  void finish() override;

 protected:
  using Member = ThreadGroup::Member;
  // Before the first step; `current` is set to what is being run, for messages.
  virtual void prepare(Member& member, const BoundInstruction*& current) const = 0;
  // When its addresses are those of a step, before that step's first instruction.
  virtual void begin_step(Member& member, bool is_first) const = 0;
  // Its share of the i-th instruction.
  virtual void run_share(Member& member, bool is_first, BoundInstruction& bound, const Share& share) const = 0;
  // The positions of the scans around the body and of this one.
  virtual const std::int64_t* scan_steps(const Member& member) const = 0;

  ThreadGroup& group_;

 private:
  void run_members(int first, int count, Barrier* barrier);
  void run_one(int m, std::size_t i, const BoundInstruction*& current) const;

  Barrier barrier_;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // of the thread that set it
};

// Each thread has columns of every result.
class ByColumns final : public SharedByThreads {
 public:
  using SharedByThreads::SharedByThreads;

 private:
  void prepare(Member& member, const BoundInstruction*& current) const override;
  void begin_step(Member& member, bool is_first) const override;
  void run_share(Member& member, bool is_first, BoundInstruction& bound, const Share& share) const override;
  const std::int64_t* scan_steps(const Member&) const override { return context_.scan_steps; }
};

// Each thread has rows of every result.
class ByRows final : public SharedByThreads {
 public:
  using SharedByThreads::SharedByThreads;

 private:
  void prepare(Member& member, const BoundInstruction*& current) const override;
  void begin_step(Member& member, bool is_first) const override;
  void run_share(Member& member, bool is_first, BoundInstruction& bound, const Share& share) const override;
  const std::int64_t* scan_steps(const Member& member) const override { return member.scan_steps.data(); }
};

// Room for a scan's executor, since a run allocates nothing.
class ScanExecution {
 public:
  // The executor of the scan's plan.
  ScanExecutor& make(const BoundInstruction& instruction, const RunContext& context);
  ScanExecutor& executor() { return *executor_; }

 private:
  std::variant<std::monostate, StepByStep, OneLaunch, ByColumns, ByRows> room_;
  ScanExecutor* executor_ = nullptr;
};

// Runs scans concurrently, kMostConcurrent at most; one alone in the way of its plan.
void run_scans(BoundInstruction* scans, std::size_t count, const RunContext& context);

}  // namespace graphrun
