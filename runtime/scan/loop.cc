#include "runtime/scan/loop.h"

#include <algorithm>
#include <limits>

#include "runtime/scan/team.h"

namespace graphrun {
namespace {

LoopFactory& factory() {
  static LoopFactory factory;
  return factory;
}

RowLoopFactory& row_factory() {
  static RowLoopFactory factory;
  return factory;
}

char* bytes_at(void* data) { return static_cast<char*>(data); }

// The places behind a body's slots: see Region.
class SlotPlaces {
 public:
  SlotPlaces(const BoundScan& scan, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             const std::int32_t* positions)
      : scan_(scan), inputs_(inputs), outputs_(outputs), positions_(positions) {}

  LoopPlace of(std::size_t slot) const {
    const std::size_t states = scan_.states.size(), first_result = inputs_.size() + 1;
    if (slot < states) return before(slot);
    if (slot < states + scan_.each) return sequence(inputs_[slot], scan_.each_stride[slot - states]);
    if (slot < inputs_.size()) return fixed(inputs_[slot].data);
    if (slot == inputs_.size()) {
      char* const at = bytes_at(const_cast<std::int32_t*>(positions_));
      return {nullptr, at, at, sizeof(std::int32_t), 0};
    }
    if (slot < first_result + states) return after(slot - first_result);
    const std::size_t stack = slot - first_result - states;
    return sequence(outputs_[states + stack], scan_.stack_stride[stack]);
  }

 private:
  static LoopPlace fixed(void* data) { return {nullptr, bytes_at(data), bytes_at(data), 0, 0}; }
  static LoopPlace sequence(const TensorView& view, std::size_t stride) {
    return {nullptr, bytes_at(view.data), bytes_at(view.data), static_cast<std::int64_t>(stride), 0};
  }
  // Where step k leaves the state: by turns, so that the last one's is the end's own memory.
  LoopPlace after(std::size_t s) const {
    if (scan_.states[s].spec.mode == StateSpec::Mode::kInPlace) return fixed(outputs_[s].data);
    char *end = bytes_at(outputs_[s].data), *block = scan_.states[s].block;
    const bool last_is_even = (scan_.steps - 1) % 2 == 0;
    return {nullptr, last_is_even ? end : block, last_is_even ? block : end, 0, 0};
  }
  LoopPlace before(std::size_t s) const {
    const BoundScan::State& state = scan_.states[s];
    switch (state.spec.mode) {
      case StateSpec::Mode::kInPlace: return fixed(outputs_[s].data);
      case StateSpec::Mode::kAlternate: {
        const LoopPlace made = after(s);
        return {bytes_at(inputs_[s].data), made.odd, made.even, 0, 0};
      }
      case StateSpec::Mode::kStacked: break;
    }
    const auto stack = static_cast<std::size_t>(state.spec.index);
    LoopPlace place = sequence(outputs_[scan_.states.size() + stack], scan_.stack_stride[stack]);
    place.first = bytes_at(inputs_[s].data), place.shift = -1;
    return place;
  }

  const BoundScan& scan_;
  std::span<const TensorView> inputs_, outputs_;
  const std::int32_t* positions_;
};

}  // namespace

bool is_part_of_loop(const BoundInstruction& bound) {
  if (bound.source->kind == Instruction::Kind::kCopy) return bound.copies_columns();
  return !bound.scan && bound.kernel.part != nullptr;
}

std::size_t passed_bytes(const BoundScan& scan) {
  std::size_t bytes = 0;
  for (const BoundInstruction& bound : scan.body.instructions) {
    if (bound.kernel.part != nullptr) bytes += bound.kernel.part->passed_bytes();
  }
  return bytes;
}

void set_loop_factory(LoopFactory made) { factory() = std::move(made); }
void set_row_loop_factory(RowLoopFactory made) { row_factory() = std::move(made); }

namespace {

// A loop as one launch, or why it is none by columns and by rows.
struct LoopFound {
  std::shared_ptr<const LoopKernel> loop;
  Obstacle by_columns, by_rows;
};

LoopFound loop_of(const BoundScan& scan, const ProgramLayout& layout, int sharing) {
  using Kind = Obstacle::Kind;
  const std::vector<BoundInstruction>& body = scan.body.instructions;
  if (factory() == nullptr || scan.steps == 0 || body.empty()) return {};
  const auto other = std::find_if_not(body.begin(), body.end(), is_part_of_loop);
  if (other != body.end()) {
    const Obstacle obstacle{other->scan ? Kind::kLoopInside : Kind::kNoPart, other->source};
    return {nullptr, obstacle, obstacle};
  }
  const auto not_by_columns = std::find_if(body.begin(), body.end(), [](const BoundInstruction& bound) {
    return bound.source->kind != Instruction::Kind::kCopy && bound.kernel.by_columns == nullptr;
  });
  if (not_by_columns == body.end()) {
    // Products that do not fit are better made one by one than element by element.
    const LoopChoice choice = factory()(scan, layout, sharing);
    return {choice.loop, choice.obstacle, {}};
  }
  const RowPlan plan = row_plan(scan);
  const LoopChoice choice = plan.obstacle ? LoopChoice{nullptr, plan.obstacle} : row_factory()(scan, plan);
  return {choice.loop, {Kind::kNoColumns, not_by_columns->source}, choice.obstacle};
}

void make_loops_alone(BoundRegion& region, const ProgramLayout& layout) {
  for (BoundInstruction& bound : region.instructions) {
    if (!bound.scan) continue;
    make_loops_alone(bound.scan->body, layout);
    LoopFound found = loop_of(*bound.scan, layout, 1);
    bound.scan->loop = std::move(found.loop);
    bound.scan->not_by_columns = found.by_columns, bound.scan->not_by_rows = found.by_rows;
  }
}

std::int64_t elements_of(const BoundScan& scan) {
  std::int64_t elements = 0;
  for (const BoundInstruction& bound : scan.body.instructions) {
    for (const TensorView& result : bound.outputs()) elements += result.count();
  }
  return elements;
}

// What each of these loops is beside the others; empty where they are better off in turn.
std::vector<std::shared_ptr<const LoopKernel>> loops_beside(std::span<BoundInstruction> loops, const ProgramLayout& layout) {
  constexpr std::int64_t kUneven = 2;  // how many times as much one may have to do as another
  std::vector<std::shared_ptr<const LoopKernel>> beside;
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (const BoundInstruction& bound : loops) {
    const BoundScan& scan = *bound.scan;
    if (scan.loop == nullptr) return {};
    least = std::min(least, elements_of(scan)), most = std::max(most, elements_of(scan));
    const LoopKernel::Traits alone = scan.loop->traits();
    if (!alone.meets) {  // nobody waits for a block that has no room yet
      beside.push_back(scan.loop);
      continue;
    }
    beside.push_back(loop_of(scan, layout, static_cast<int>(loops.size())).loop);
    if (beside.back() == nullptr) return {};
    const LoopKernel::Traits shared = beside.back()->traits();
    if ((alone.keeps_weights && !shared.keeps_weights) || (alone.in_clusters && !shared.in_clusters)) return {};
  }
  if (most > kUneven * least) return {};
  return beside;
}

void prepare(const BoundRegion& region) {
  for (const BoundInstruction& bound : region.instructions) {
    if (!bound.scan) continue;
    prepare(bound.scan->body);
    if (bound.scan->loop) bound.scan->loop->prepare();
  }
}

}  // namespace

void make_loops(BoundRegion& root, const ProgramLayout& layout) {
  make_loops_alone(root, layout);
  for (std::size_t first = 0; first < root.instructions.size();) {
    std::size_t last = first + 1;
    while (last < root.instructions.size() && root.instructions[last].source->beside) ++last;
    const std::span<BoundInstruction> group(root.instructions.data() + first, last - first);
    if (group.size() > 1) {
      std::vector<std::shared_ptr<const LoopKernel>> loops = loops_beside(group, layout);
      for (std::size_t i = 0; i < loops.size(); ++i) group[i].scan->loop = std::move(loops[i]);
      if (!loops.empty()) group[0].beside = group.size() - 1;
    }
    first = last;
  }
  prepare(root);
}

LoopRun loop_run(const BoundScan& scan, std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                 const std::int32_t* positions, const KernelContext& context) {
  const SlotPlaces slots(scan, inputs, outputs, positions);
  LoopRun run{{}, {}, context};
  for (const BoundInstruction& bound : scan.body.instructions) {
    const Instruction& source = *bound.source;
    run.nodes.push_back(bound.number);
    for (std::size_t o = 0; o < bound.operands.size(); ++o) {
      const std::int32_t v = o < source.inputs.size() ? source.inputs[o] : source.outputs[o - source.inputs.size()];
      const Storage storage = v < 0 ? Storage{} : scan.body.source->values[static_cast<std::size_t>(v)].storage;
      char* const block = bytes_at(bound.operands[o].data);
      run.places.push_back(storage.kind == Storage::Kind::kSlot ? slots.of(static_cast<std::size_t>(storage.index))
                                                                : LoopPlace{nullptr, block, block, 0, 0});
    }
  }
  return run;
}

}  // namespace graphrun
