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

// A running scan. One thread calls begin; then either each of threads() threads calls run with its number, from 0, or one
// thread calls run_all; then one calls finish, which throws what a step has thrown.
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

// Runs step by step, instruction by instruction.
class StepExecutor final : public ScanExecutor {
 public:
  using ScanExecutor::ScanExecutor;
  void run(int thread) override;
};

// Runs all steps as one launch on a device.
class LaunchExecutor final : public ScanExecutor {
 public:
  using ScanExecutor::ScanExecutor;
  void run(int thread) override;
};

// Runs on a thread group, whose threads stay in the body for all steps.
class SharedByThreads : public ScanExecutor {
 public:
  SharedByThreads(const BoundInstruction& instruction, const RunContext& context)
      : ScanExecutor(instruction, context), group_(*scan_.plan.threads()->group), barrier_(SharedByThreads::threads()) {}

  int threads() const override { return static_cast<int>(group_.members.size()); }
  void run(int thread) override { run_members(thread, 1, &barrier_); }
  void run_all() override { run_members(0, threads(), nullptr); }
  void finish() override;

 protected:
  using Member = ThreadGroup::Member;
  // Called before the first step; sets `current` to what is running, for messages.
  virtual void prepare(Member&, const BoundInstruction*& /*current*/) const {}
  // Runs the thread's share of the i-th instruction.
  virtual void run_share(Member& member, bool is_first, BoundInstruction& bound, const Share& share) const = 0;
  // The context with the member's own positions: threads may be at different steps, and draws depend on the step.
  RunContext context_of(Member& member) const;

  ThreadGroup& group_;

 private:
  void run_members(int first, int count, Barrier* barrier);
  void run_one(int m, std::size_t i, const BoundInstruction*& current) const;

  Barrier barrier_;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // of the first thread that failed
};

// Each thread owns columns of every result.
class ColumnExecutor final : public SharedByThreads {
 public:
  using SharedByThreads::SharedByThreads;

 private:
  void prepare(Member& member, const BoundInstruction*& current) const override;
  void run_share(Member& member, bool is_first, BoundInstruction& bound, const Share& share) const override;
};

// Each thread owns rows of every result.
class RowExecutor final : public SharedByThreads {
 public:
  using SharedByThreads::SharedByThreads;

 private:
  void run_share(Member& member, bool is_first, BoundInstruction& bound, const Share& share) const override;
};

// Storage for a scan's executor, since a run allocates nothing.
class ScanExecution {
 public:
  // Makes the executor that the scan's plan calls for.
  ScanExecutor& make(const BoundInstruction& instruction, const RunContext& context);
  ScanExecutor& executor() { return *executor_; }

 private:
  std::variant<std::monostate, StepExecutor, LaunchExecutor, ColumnExecutor, RowExecutor> room_;
  ScanExecutor* executor_ = nullptr;
};

// Runs scans concurrently, at most kMostConcurrent; a single scan runs as planned.
void run_scans(BoundInstruction* scans, std::size_t count, const RunContext& context);

}  // namespace graphrun
