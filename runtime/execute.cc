#include "runtime/execute.h"

#include <cstring>

#include "runtime/profiler.h"

namespace graphrun {
namespace {

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

// A scan under way: the addresses of what its body reads and writes at each step.
class ScanRun {
 public:
  ScanRun(const BoundInstruction& instruction, const RunContext& context)
      : scan_(*instruction.scan),
        body_(scan_.body),
        inputs_(instruction.inputs()),
        outputs_(instruction.outputs()),
        context_(context),
        first_result_(inputs_.size() + 1) {}

  void run() {
    begin();
    std::int64_t before = -1;  // the position of the step before
    for (std::int64_t k = 0; k < scan_.steps; ++k) {
      const std::int64_t position = scan_.reverse ? scan_.steps - 1 - k : k;
      for (std::size_t e = 0; e < scan_.each; ++e) {
        const std::size_t operand = scan_.states.size() + e;
        body_.set_slot(operand, slice(inputs_[operand], scan_.each_stride[e], position));
      }
      for (std::size_t s = 0; s < scan_.states.size(); ++s) set_state(s, k, before);
      for (std::size_t o = 0; o < scan_.stacks; ++o) {
        const std::size_t result = scan_.states.size() + o;
        body_.set_slot(first_result_ + result, slice(outputs_[result], scan_.stack_stride[o], position));
      }
      scan_.position = static_cast<std::int32_t>(position);
      context_.scan_steps[body_.depth - 1] = position;
      run_region(body_, context_);
      before = position;
    }
    finish(before);
  }

 private:
  static char* slice(const TensorView& sequence, std::size_t stride, std::int64_t position) {
    if (!sequence.present()) return nullptr;  // a stack that nobody reads
    return static_cast<char*>(sequence.data) + stride * static_cast<std::size_t>(position);
  }

  // What stays the same at every step.
  void begin() {
    for (std::size_t i = scan_.states.size() + scan_.each; i < inputs_.size(); ++i) body_.set_slot(i, inputs_[i].data);
    body_.set_slot(inputs_.size(), &scan_.position);
    for (std::size_t s = 0; s < scan_.states.size(); ++s) {
      if (scan_.states[s].spec.mode != StateSpec::Mode::kInPlace) continue;
      copy_bytes(outputs_[s].data, inputs_[s].data, scan_.states[s].bytes);
      body_.set_slot(s, outputs_[s].data);
    }
  }

  // Where the k-th step to run reads state s and leaves its next value.
  void set_state(std::size_t s, std::int64_t k, std::int64_t before) {
    const BoundScan::State& state = scan_.states[s];
    switch (state.spec.mode) {
      case StateSpec::Mode::kInPlace: return;
      case StateSpec::Mode::kAlternate:
        body_.set_slot(s, k == 0 ? inputs_[s].data : written(s, k - 1));
        body_.set_slot(first_result_ + s, written(s, k));
        return;
      case StateSpec::Mode::kStacked: body_.set_slot(s, k == 0 ? inputs_[s].data : stacked(state, before)); return;
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

  void finish(std::int64_t last) {
    for (std::size_t s = 0; s < scan_.states.size(); ++s) {
      const BoundScan::State& state = scan_.states[s];
      if (!outputs_[s].present()) continue;
      if (scan_.steps == 0) {
        copy_bytes(outputs_[s].data, inputs_[s].data, state.bytes);
      } else if (state.spec.mode == StateSpec::Mode::kStacked) {
        copy_bytes(outputs_[s].data, stacked(state, last), state.bytes);
      }
    }
  }

  BoundScan& scan_;
  BoundRegion& body_;
  std::span<const TensorView> inputs_, outputs_;
  const RunContext& context_;
  const std::size_t first_result_;  // the body's slot of its first output: after its inputs, which the step's number ends
};

void run_instruction(BoundInstruction& bound, std::size_t depth, const RunContext& context) {
  switch (bound.source->kind) {
    case Instruction::Kind::kKernel:
      bound.kernel.run({&bound.source->attributes,
                        bound.inputs(),
                        bound.outputs(),
                        bound.workspace,
                        {context.seed, context.step, {context.scan_steps, depth}}});
      return;
    case Instruction::Kind::kScan: ScanRun(bound, context).run(); return;
    case Instruction::Kind::kCopy:
      copy_bytes(bound.operands[1].data, bound.operands[0].data, bound.operands[0].bytes());
      return;
  }
}

}  // namespace

void run_region(BoundRegion& region, const RunContext& context) {
  const BoundInstruction* current = nullptr;
  try {
    for (BoundInstruction& bound : region.instructions) {
      current = &bound;
      const std::int64_t start = context.profiler == nullptr ? 0 : Profiler::now();
      run_instruction(bound, region.depth, context);
      if (context.profiler != nullptr) context.profiler->record(bound.source->name, bound.source->op, start, Profiler::now());
    }
  } catch (...) {
    // A scan's error has its place already, from within the body.
    if (current == nullptr || current->source->kind != Instruction::Kind::kKernel) throw;
    rethrow_from(*current->source);
  }
}

}  // namespace graphrun
