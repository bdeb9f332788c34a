#include "runtime/execute/execute.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <optional>

#include "runtime/device/backend.h"
#include "runtime/execute/kept.h"
#include "runtime/execute/profiler.h"
#include "runtime/program/watch.h"
#include "runtime/scan/loop.h"
#include "runtime/scan/team.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}
void copy_bytes(const RunContext& context, void* to, const void* from, std::size_t bytes) {
  if (context.device == nullptr) return copy_bytes(to, from, bytes);
  if (bytes > 0 && to != from) context.device->backend->copy(to, from, bytes);
}

KernelContext kernel_context(const BoundInstruction& bound, std::size_t depth, const RunContext& context) {
  KernelContext made{&bound.source->attributes,
                     bound.inputs(),
                     bound.outputs(),
                     bound.workspace,
                     {context.seed, context.step, {context.scan_steps, depth}}};
  if (context.device != nullptr) {
    made.stream = context.device->backend->stream();
    made.fault = context.device->fault;
    made.node = bound.number;
    made.random.low_step = context.device->low_step;
  }
  return made;
}

constexpr double kWorkOfThread = 150e3;  // operations that are worth another thread

// A kernel that lasting operands are prepared for, outside of a team.
void run_by_columns(BoundInstruction& bound, const KernelContext& context) {
  const ColumnKernel& kernel = *bound.kernel.by_columns;
  const double each = std::max(1.0, kernel.operations) / static_cast<double>(std::max<std::int64_t>(kernel.columns, 1));
  const auto steps = static_cast<std::int64_t>(kWorkOfThread / each / static_cast<double>(kernel.step)) + 1;
  const std::int64_t grain = std::min(steps * kernel.step, std::max<std::int64_t>(kernel.columns, 1));
  parallel_ranges(kernel.columns, grain, [&](std::int64_t begin, std::int64_t end) { kernel.run(context, begin, end); });
}

void run_instruction(BoundInstruction& bound, std::size_t depth, const RunContext& context);

// Shows the watch what an instruction has made.
void show(const BoundInstruction& bound, std::size_t depth, const std::int64_t* scan_steps, const RunContext& context) {
  if (context.watch != nullptr) context.watch->made(*bound.source, bound.outputs(), {scan_steps, depth});
}

// The exception under way as a region's run would throw it.
std::exception_ptr failure_of(const BoundInstruction* current) {
  if (current == nullptr || current->source->kind != Instruction::Kind::kKernel) return std::current_exception();
  try {
    rethrow_from(*current->source);
  } catch (...) {
    return std::current_exception();
  }
}

// A scan under way: the addresses of what its body reads and writes at each step.
class ScanRun {
 public:
  ScanRun(const BoundInstruction& instruction, const RunContext& context)
      : instruction_(instruction),
        scan_(*instruction.scan),
        body_(scan_.body),
        inputs_(instruction.inputs()),
        outputs_(instruction.outputs()),
        context_(context),
        first_result_(inputs_.size() + 1),
        barrier_(scan_.team ? members() : 1) {}

  void run() {
    begin();
    if (scan_.loop) {
      run_loop();
      return finish();
    }
    for (std::int64_t k = 0; k < scan_.steps; ++k) {
      set_step(body_, k);
      scan_.position = position_of(k);
      context_.scan_steps[body_.depth - 1] = scan_.position;
      if (context_.device != nullptr) body_.set_slot(inputs_.size(), context_.device->positions + scan_.position);
      run_region(body_, context_);
    }
    finish();
  }

  // All steps as one launch.
  void run_loop() {
    KernelContext context = kernel_context(instruction_, body_.depth - 1, context_);
    context_.device->backend->clear(context.workspace, scan_.loop->workspace());
    scan_.loop->run(loop_run(scan_, inputs_, outputs_, context_.device->positions, context));
  }

  // The team's run: begin_team, every member's part, finish_team, which throws what one of them threw.
  int members() const { return static_cast<int>(scan_.team->members.size()); }
  void begin_team() { begin(); }
  void run_member(int m) { run_members(m, 1, &barrier_); }
  void run_all_members() { run_members(0, members(), nullptr); }
  void finish_team() {
    if (failure_.what) std::rethrow_exception(failure_.what);
    finish();
  }

 private:
  struct TeamFailure {
    std::atomic<bool> any{false};
    std::exception_ptr what;  // of the one that set `any`
  };

  std::int32_t position_of(std::int64_t k) const { return static_cast<std::int32_t>(scan_.reverse ? scan_.steps - 1 - k : k); }

  // Where the k-th step to run finds its operands and leaves its results.
  void set_step(BoundRegion& body, std::int64_t k) const {
    const std::int64_t position = position_of(k);
    for (std::size_t e = 0; e < scan_.each; ++e) {
      const std::size_t operand = scan_.states.size() + e;
      body.set_slot(operand, slice(inputs_[operand], scan_.each_stride[e], position));
    }
    for (std::size_t s = 0; s < scan_.states.size(); ++s) set_state(body, s, k);
    for (std::size_t o = 0; o < scan_.stacks; ++o) {
      const std::size_t result = scan_.states.size() + o;
      body.set_slot(first_result_ + result, slice(outputs_[result], scan_.stack_stride[o], position));
    }
  }

  // Members [first, first + count) of the team on this thread; they meet the others at the barrier, if there are others.
  void run_members(int first, int count, Barrier* barrier) {
    Team& team = *scan_.team;
    const BoundInstruction* current = nullptr;
    try {
      for (int m = first; m < first + count; ++m) prepare(*team.members[static_cast<std::size_t>(m)], current);
      for (std::int64_t k = 0; k < scan_.steps; ++k) {
        for (int m = first; m < first + count; ++m) {
          Team::Member& member = *team.members[static_cast<std::size_t>(m)];
          set_step(member.body, k);
          member.position = position_of(k);
          if (team.by_rows) member.scan_steps.back() = member.position;
        }
        if (first == 0 && !team.by_rows) context_.scan_steps[body_.depth - 1] = position_of(k);
        for (std::size_t i = 0; i < body_.instructions.size(); ++i) {
          if (team.meet_before[i] && barrier != nullptr) barrier->wait();
          if (failure_.any.load(std::memory_order_relaxed)) break;
          for (int m = first; m < first + count; ++m) run_share(m, i, current);
        }
      }
    } catch (...) {
      if (!failure_.any.exchange(true)) failure_.what = failure_of(current);
      // The others must not wait for a thread that is gone.
      if (barrier != nullptr) barrier->leave();
    }
  }

  void prepare(Team::Member& member, const BoundInstruction*& current) const {
    set_constants(member.body);
    member.body.set_slot(inputs_.size(), &member.position);
    if (scan_.team->by_rows) {
      std::copy_n(context_.scan_steps, body_.depth, member.scan_steps.begin());
      return;
    }
    for (std::size_t i = 0; i < member.body.instructions.size(); ++i) {
      BoundInstruction& bound = member.body.instructions[i];
      const ColumnRange& range = member.ranges[i];
      if (!bound.kernel.by_columns || !bound.kernel.by_columns->prepare || range.begin == range.end) continue;
      if (bound.kept != nullptr) continue;
      current = &bound;
      bound.kernel.by_columns->prepare(kernel_context(bound, body_.depth, context_), range.begin, range.end);
    }
  }

  void run_share(int m, std::size_t i, const BoundInstruction*& current) const {
    Team::Member& member = *scan_.team->members[static_cast<std::size_t>(m)];
    BoundInstruction& bound = member.body.instructions[i];
    const ColumnRange& range = member.ranges[i];
    current = &bound;
    const std::int64_t start = m != 0 || context_.profiler == nullptr ? 0 : Profiler::now();
    if (scan_.team->by_rows) {
      run_rows(member, bound, range);
    } else if (range.begin < range.end && bound.kernel.by_columns) {
      bound.kernel.by_columns->run(kernel_context(bound, body_.depth, context_), range.begin, range.end);
    } else if (range.begin < range.end) {
      copy_columns(bound, range);
    } else if (range.begin < 0 && m == 0) {
      run_instruction(bound, body_.depth, context_);
    }
    show(bound, body_.depth, team_steps(member), context_);
    if (m == 0 && context_.profiler != nullptr) {
      context_.profiler->record(bound.source->name, bound.source->op, start, Profiler::now());
    }
  }

  const std::int64_t* team_steps(const Team::Member& member) const {
    return scan_.team->by_rows ? member.scan_steps.data() : context_.scan_steps;
  }

  // A member's rows, or all of what each makes for itself.
  void run_rows(Team::Member& member, BoundInstruction& bound, const ColumnRange& rows) const {
    RunContext own = context_;
    own.scan_steps = member.scan_steps.data();
    if (bound.source->kind == Instruction::Kind::kCopy && rows.begin < rows.end) {
      copy_rows(bound, rows);
    } else if (rows.begin < rows.end) {
      bound.kernel.by_rows->run(kernel_context(bound, body_.depth, own), rows.begin, rows.end);
    } else if (rows.begin < 0) {
      run_instruction(bound, body_.depth, own);
    }
  }

  static void copy_columns(const BoundInstruction& bound, const ColumnRange& range) {
    const TensorView &from = bound.operands[0], &to = bound.operands[1];
    const std::size_t element = size_of(from.dtype), row = static_cast<std::size_t>(from.sizes.back()) * element;
    const std::size_t begin = static_cast<std::size_t>(range.begin) * element;
    const std::size_t bytes = static_cast<std::size_t>(range.end - range.begin) * element;
    for (std::size_t at = begin; at < from.bytes(); at += row) {
      copy_bytes(static_cast<char*>(to.data) + at, static_cast<const char*>(from.data) + at, bytes);
    }
  }

  static void copy_rows(const BoundInstruction& bound, const ColumnRange& rows) {
    // The same elements in the same order, whatever shape they are read under: rows are those of the result.
    const TensorView &from = bound.operands[0], &to = bound.operands[1];
    const std::size_t row = to.bytes() / static_cast<std::size_t>(to.sizes[0]);
    const std::size_t begin = static_cast<std::size_t>(rows.begin) * row;
    copy_bytes(static_cast<char*>(to.data) + begin, static_cast<const char*>(from.data) + begin,
               static_cast<std::size_t>(rows.end - rows.begin) * row);
  }

  static char* slice(const TensorView& sequence, std::size_t stride, std::int64_t position) {
    if (!sequence.present()) return nullptr;  // a stack that nobody reads
    return static_cast<char*>(sequence.data) + stride * static_cast<std::size_t>(position);
  }

  // What stays the same at every step.
  void begin() {
    set_constants(body_);
    body_.set_slot(inputs_.size(), &scan_.position);
    for (std::size_t s = 0; s < scan_.states.size(); ++s) {
      if (scan_.states[s].spec.mode == StateSpec::Mode::kInPlace) {
        copy_bytes(context_, outputs_[s].data, inputs_[s].data, scan_.states[s].bytes);
      }
    }
  }
  void set_constants(BoundRegion& body) const {
    for (std::size_t i = scan_.states.size() + scan_.each; i < inputs_.size(); ++i) body.set_slot(i, inputs_[i].data);
  }

  // Where the k-th step to run reads state s and leaves its next value.
  void set_state(BoundRegion& body, std::size_t s, std::int64_t k) const {
    const BoundScan::State& state = scan_.states[s];
    switch (state.spec.mode) {
      case StateSpec::Mode::kInPlace: body.set_slot(s, outputs_[s].data); return;
      case StateSpec::Mode::kAlternate:
        body.set_slot(s, k == 0 ? inputs_[s].data : written(s, k - 1));
        body.set_slot(first_result_ + s, written(s, k));
        return;
      case StateSpec::Mode::kStacked: body.set_slot(s, k == 0 ? inputs_[s].data : stacked(state, position_of(k - 1))); return;
    }
  }

  // By turns, so that the last step writes into the end's own memory.
  void* written(std::size_t s, std::int64_t k) const {
    return (scan_.steps - 1 - k) % 2 == 0 ? outputs_[s].data : scan_.states[s].block;
  }
  void* stacked(const BoundScan::State& state, std::int64_t position) const {
    const auto o = static_cast<std::size_t>(state.spec.index);
    return slice(outputs_[scan_.states.size() + o], scan_.stack_stride[o], position);
  }

  void finish() {
    for (std::size_t s = 0; s < scan_.states.size(); ++s) {
      const BoundScan::State& state = scan_.states[s];
      if (!outputs_[s].present()) continue;
      if (scan_.steps == 0) {
        copy_bytes(context_, outputs_[s].data, inputs_[s].data, state.bytes);
      } else if (state.spec.mode == StateSpec::Mode::kStacked) {
        copy_bytes(context_, outputs_[s].data, stacked(state, position_of(scan_.steps - 1)), state.bytes);
      }
    }
  }

  const BoundInstruction& instruction_;
  BoundScan& scan_;
  BoundRegion& body_;
  std::span<const TensorView> inputs_, outputs_;
  const RunContext context_;
  const std::size_t first_result_;  // the body's slot of its first output: after its inputs, which the step's number ends
  Barrier barrier_;
  TeamFailure failure_;
};

// Loops shared by teams, at the same time: each team's members side by side, or all one after the other where there are no
// threads for them.
class Teams {
 public:
  Teams(BoundInstruction* loops, std::size_t count, const RunContext& context)
      : loops_(loops), count_(count), profiler_(context.profiler) {
    for (std::size_t i = 0; i < count; ++i) {
      RunContext own = context;
      own.scan_steps += i;  // bodies that teams run hold no loops: each needs one position
      runs_[i].emplace(loops[i], own);
    }
  }

  void run() {
    int threads = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      runs_[i]->begin_team();
      threads += runs_[i]->members();
    }
    Cores& cores = Cores::of_this_thread();
    if (threads > 1) cores.begin();
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      if (omp_get_thread_num() != 0) cores.enter();
      if (omp_get_num_threads() == threads) {
        run_on(omp_get_thread_num());
      } else if (omp_get_thread_num() == 0) {
        for (std::size_t i = 0; i < count_; ++i) noted(i, [&] { runs_[i]->run_all_members(); });
      }
    }
    for (std::size_t i = 0; i < count_; ++i) runs_[i]->finish_team();
  }

 private:
  void run_on(int thread) {
    std::size_t i = 0;
    for (; thread >= runs_[i]->members(); ++i) thread -= runs_[i]->members();
    if (thread == 0) {
      noted(i, [&] { runs_[i]->run_member(0); });
    } else {
      runs_[i]->run_member(thread);
    }
  }
  // A loop alone is noted by its region.
  template <class Fn>
  void noted(std::size_t i, Fn&& fn) const {
    const std::int64_t start = profiler_ != nullptr && count_ > 1 ? Profiler::now() : 0;
    fn();
    if (start != 0) profiler_->record(loops_[i].source->name, loops_[i].source->op, start, Profiler::now());
  }

  BoundInstruction* loops_;
  std::size_t count_;
  Profiler* profiler_;
  std::array<std::optional<ScanRun>, kMostBeside> runs_;
};

void run_instruction(BoundInstruction& bound, std::size_t depth, const RunContext& context) {
  switch (bound.source->kind) {
    case Instruction::Kind::kKernel:
      if (bound.kept != nullptr) return run_by_columns(bound, kernel_context(bound, depth, context));
      return bound.kernel.run(kernel_context(bound, depth, context));
    case Instruction::Kind::kScan: {
      bound.scan->team ? Teams(&bound, 1, context).run() : ScanRun(bound, context).run();
      return;
    }
    case Instruction::Kind::kCopy:
      copy_bytes(context, bound.operands[1].data, bound.operands[0].data, bound.operands[0].bytes());
      return;
  }
}

// Loops of a device, at the same time; one after the other, each on its share all the same, where somebody looks.
void run_sides(BoundInstruction* loops, std::size_t count, const RunContext& context) {
  Backend& device = *context.device->backend;
  const bool looks = context.watch != nullptr || context.profiler != nullptr;
  try {
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t start = context.profiler == nullptr ? 0 : Profiler::now();
      if (!looks) device.side(i);
      ScanRun(loops[i], context).run();
      show(loops[i], 0, context.scan_steps, context);
      if (context.profiler != nullptr) {
        context.profiler->record(loops[i].source->name, loops[i].source->op, start, Profiler::now());
      }
    }
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    try {
      if (!looks) device.join();
    } catch (...) {  // what came first is what is told
    }
    std::rethrow_exception(failure);
  }
  if (!looks) device.join();
}

}  // namespace

void run_region(BoundRegion& region, const RunContext& context) {
  const BoundInstruction* current = nullptr;
  try {
    for (std::size_t i = 0; i < region.instructions.size(); ++i) {
      BoundInstruction& bound = region.instructions[i];
      current = &bound;
      if (bound.beside > 0 && context.device != nullptr) {
        run_sides(&bound, bound.beside + 1, context);
        i += bound.beside;
        continue;
      }
      if (bound.beside > 0) {
        Teams(&bound, bound.beside + 1, context).run();
        i += bound.beside;
        continue;
      }
      const std::int64_t start = context.profiler == nullptr ? 0 : Profiler::now();
      run_instruction(bound, region.depth, context);
      show(bound, region.depth, context.scan_steps, context);
      if (context.profiler != nullptr) context.profiler->record(bound.source->name, bound.source->op, start, Profiler::now());
    }
  } catch (...) {
    // A scan's error has its place already, from within the body.
    if (current == nullptr || current->source->kind != Instruction::Kind::kKernel) throw;
    rethrow_from(*current->source);
  }
}

}  // namespace graphrun
