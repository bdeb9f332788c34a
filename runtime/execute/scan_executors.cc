#include "runtime/execute/scan_executors.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <span>

#include "runtime/execute/instruction_run.h"
#include "runtime/execute/profiler.h"
#include "runtime/scan/launch.h"
#include "runtime/tensor/backend.h"
#include "runtime/threads/cores.h"

namespace graphrun {

void StepExecutor::run(int) {
  BoundRegion& body = scan_.body;
  for (const BoundInstruction& bound : body.instructions) {
    if (bound.prepared && scan_.steps > 0) bound.kernel.prepared->prepare(kernel_context(bound, body.depth, context_));
  }
  for (std::int64_t k = 0; k < scan_.steps; ++k) {
    steps_.set_step(body, k);
    scan_.position = scan_.position_of(k);
    context_.scan_steps[body.depth - 1] = scan_.position;
    if (context_.device != nullptr) steps_.set_position(body, context_.device->positions + scan_.position);
    run_region(body, context_);
  }
}

void LaunchExecutor::run(int) {
  KernelContext context = kernel_context(instruction_, scan_.body.depth - 1, context_);
  context_.device->backend->clear(context.workspace, scan_.plan.launch()->workspace());
  scan_.plan.launch()->run(loop_run(scan_, instruction_.inputs(), instruction_.outputs(), context_.device->positions, context));
}

// Runs members [first, first + count) of the group on this thread; they wait for the other threads at the barrier, if any.
void SharedByThreads::run_members(int first, int count, Barrier* barrier) {
  const BoundInstruction* current = nullptr;
  const auto members = std::span(group_.members).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  try {
    for (const auto& member : members) {
      steps_.set_invariants(member->body);
      steps_.set_position(member->body, &member->position);
      std::copy_n(context_.scan_steps, scan_.body.depth, member->scan_steps.begin());
      prepare(*member, current);
    }
    for (std::int64_t k = 0; k < scan_.steps; ++k) {
      for (const auto& member : members) {
        steps_.set_step(member->body, k);
        member->position = scan_.position_of(k);
        member->scan_steps.back() = member->position;
      }
      for (std::size_t i = 0; i < scan_.body.instructions.size(); ++i) {
        if (group_.barrier_before[i] && barrier != nullptr) barrier->wait();
        if (failed_.load(std::memory_order_relaxed)) break;
        for (int m = first; m < first + count; ++m) run_one(m, i, current);
      }
    }
  } catch (...) {
    if (!failed_.exchange(true)) failure_ = failure_of(current);
    // Other threads must not wait for one that has stopped.
    if (barrier != nullptr) barrier->leave();
  }
}

void SharedByThreads::run_one(int m, std::size_t i, const BoundInstruction*& current) const {
  Member& member = *group_.members[static_cast<std::size_t>(m)];
  BoundInstruction& bound = member.body.instructions[i];
  current = &bound;
  const bool is_profiled = m == 0 && context_.profiler != nullptr;
  const std::int64_t start = is_profiled ? Profiler::now() : 0;
  run_share(member, m == 0, bound, member.shares[i]);
  show(bound, scan_.body.depth, member.scan_steps.data(), context_);
  if (is_profiled) context_.profiler->record(bound.source->name, bound.source->op, start, Profiler::now());
}

RunContext SharedByThreads::context_of(Member& member) const {
  RunContext own = context_;
  own.scan_steps = member.scan_steps.data();
  return own;
}

void SharedByThreads::finish() {
  if (failure_) std::rethrow_exception(failure_);
  ScanExecutor::finish();
}

void ColumnExecutor::prepare(Member& member, const BoundInstruction*& current) const {
  for (std::size_t i = 0; i < member.body.instructions.size(); ++i) {
    BoundInstruction& bound = member.body.instructions[i];
    const Share& columns = member.shares[i];
    if (!bound.kernel.by_columns || !bound.kernel.by_columns->prepare || columns.begin == columns.end) continue;
    if (bound.packed != nullptr) continue;
    current = &bound;
    bound.kernel.by_columns->prepare(kernel_context(bound, scan_.body.depth, context_of(member)), columns.begin, columns.end);
  }
}

void ColumnExecutor::run_share(Member& member, bool is_first, BoundInstruction& bound, const Share& columns) const {
  if (columns.begin < columns.end && bound.kernel.by_columns) {
    bound.kernel.by_columns->run(kernel_context(bound, scan_.body.depth, context_of(member)), columns.begin, columns.end);
  } else if (columns.begin < columns.end) {  // a copy instruction
    const TensorView &from = bound.operands[0], &to = bound.operands[1];
    const std::size_t element = size_of(from.dtype), row = static_cast<std::size_t>(from.sizes.back()) * element;
    const std::size_t bytes = static_cast<std::size_t>(columns.end - columns.begin) * element;
    for (std::size_t at = static_cast<std::size_t>(columns.begin) * element; at < from.bytes(); at += row) {
      copy_bytes(context_, static_cast<char*>(to.data) + at, static_cast<const char*>(from.data) + at, bytes);
    }
  } else if (columns.begin < 0 && is_first) {
    run_instruction(bound, scan_.body.depth, context_of(member));
  }
}

void RowExecutor::run_share(Member& member, bool, BoundInstruction& bound, const Share& rows) const {
  const RunContext own = context_of(member);
  if (bound.source->kind == Instruction::Kind::kCopy && rows.begin < rows.end) {
    // A copy keeps the elements in order under whatever shape, so the rows are those of the result.
    const TensorView &from = bound.operands[0], &to = bound.operands[1];
    const std::size_t row = to.bytes() / static_cast<std::size_t>(to.sizes[0]);
    const std::size_t begin = static_cast<std::size_t>(rows.begin) * row;
    copy_bytes(context_, static_cast<char*>(to.data) + begin, static_cast<const char*>(from.data) + begin,
               static_cast<std::size_t>(rows.end - rows.begin) * row);
  } else if (rows.begin < rows.end) {
    bound.kernel.by_rows->run(kernel_context(bound, scan_.body.depth, own), rows.begin, rows.end);
  } else if (rows.begin < 0) {
    run_instruction(bound, scan_.body.depth, own);
  }
}

ScanExecutor& ScanExecution::make(const BoundInstruction& instruction, const RunContext& context) {
  const ScanPlan& plan = instruction.scan->plan;
  if (plan.launch() != nullptr) {
    executor_ = &room_.emplace<LaunchExecutor>(instruction, context);
  } else if (plan.by_columns() != nullptr) {
    executor_ = &room_.emplace<ColumnExecutor>(instruction, context);
  } else if (plan.by_rows() != nullptr) {
    executor_ = &room_.emplace<RowExecutor>(instruction, context);
  } else {
    executor_ = &room_.emplace<StepExecutor>(instruction, context);
  }
  return *executor_;
}

namespace {

// Scans that run concurrently: all of their threads at the same time, or one after the other if there are not enough threads.
class ConcurrentScans {
 public:
  ConcurrentScans(BoundInstruction* scans, std::size_t count, const RunContext& context)
      : scans_(scans), count_(count), profiler_(context.profiler) {
    for (std::size_t i = 0; i < count; ++i) runs_[i].make(scans[i], context);
  }

  void run() {
    int threads = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      executor(i).begin();
      threads += executor(i).threads();
    }
    if (threads == 1) {
      noted(0, [&] { executor(0).run(0); });
    } else {
      run_side_by_side(threads);
    }
    for (std::size_t i = 0; i < count_; ++i) executor(i).finish();
  }

 private:
  ScanExecutor& executor(std::size_t i) { return runs_[i].executor(); }

  void run_side_by_side(int threads) {
    Cores& cores = Cores::of_this_thread();
    cores.begin();
#pragma omp parallel num_threads(threads)
    {
      if (omp_get_thread_num() != 0) cores.enter();
      if (omp_get_num_threads() == threads) {
        run_on(omp_get_thread_num());
      } else if (omp_get_thread_num() == 0) {
        for (std::size_t i = 0; i < count_; ++i) noted(i, [&] { executor(i).run_all(); });
      }
    }
  }

  void run_on(int thread) {
    std::size_t i = 0;
    for (; thread >= executor(i).threads(); ++i) thread -= executor(i).threads();
    if (thread == 0) {
      noted(i, [&] { executor(i).run(0); });
    } else {
      executor(i).run(thread);
    }
  }
  // A single scan is profiled by its region.
  template <class Fn>
  void noted(std::size_t i, Fn&& fn) const {
    const std::int64_t start = profiler_ != nullptr && count_ > 1 ? Profiler::now() : 0;
    fn();
    if (start != 0) profiler_->record(scans_[i].source->name, scans_[i].source->op, start, Profiler::now());
  }

  BoundInstruction* scans_;
  std::size_t count_;
  Profiler* profiler_;
  std::array<ScanExecution, kMostConcurrent> runs_;
};

// Runs scans on a device, each on its own stream; while watched or profiled, one after the other, each still on its share.
void run_on_streams(BoundInstruction* scans, std::size_t count, const RunContext& context) {
  Backend& device = *context.device->backend;
  const bool looks = context.watch != nullptr || context.profiler != nullptr;
  try {
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t start = context.profiler == nullptr ? 0 : Profiler::now();
      if (!looks) device.auxiliary(i);
      ConcurrentScans(&scans[i], 1, context).run();
      show(scans[i], 0, context.scan_steps, context);
      if (context.profiler != nullptr) {
        record_time(scans[i], start, context);
      }
    }
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    try {
      if (!looks) device.join();
    } catch (...) {  // rethrow the first failure
    }
    std::rethrow_exception(failure);
  }
  if (!looks) device.join();
}

}  // namespace

void run_scans(BoundInstruction* scans, std::size_t count, const RunContext& context) {
  if (count > 1 && context.device != nullptr) return run_on_streams(scans, count, context);
  ConcurrentScans(scans, count, context).run();
}

}  // namespace graphrun
