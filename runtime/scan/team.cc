#include "runtime/scan/team.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graphrun {
namespace {

// Before the core is given away: at the first meeting, where the one waited for may have been woken on this core and not run
// yet, and at those after it. Another program that takes the core then keeps it for milliseconds.
constexpr std::chrono::microseconds kFirstPatience{4}, kPatience{100};
constexpr int kPauses = 16;                     // between two looks at the clock
constexpr std::int64_t kFewestSteps = 3;        // below, packing weights costs more than it brings
constexpr std::size_t kMostInstructions = 256;  // each is held against all others
constexpr double kWorkOfMember = 150e3;         // operations of a step that are worth a thread of their own
constexpr double kWorkOfLoop = 3e6;             // operations of a loop that are worth one
constexpr double kUneven = 1.25;                // how much more one of several loops may have to do than another

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Columns by which threads share the instruction; 0: one does it alone.
std::int64_t shared_columns(const BoundInstruction& bound) {
  if (bound.source->kind == Instruction::Kind::kCopy) {
    const Sizes& sizes = bound.outputs()[0].sizes;
    return sizes.empty() || !bound.copies_columns() ? 0 : sizes.back();
  }
  return bound.kernel.by_columns ? bound.kernel.by_columns->columns : 0;
}

double operations_of(const BoundInstruction& bound) {
  const double given = bound.kernel.by_columns ? bound.kernel.by_columns->operations : 0;
  if (given > 0) return given;
  double elements = 0;
  for (const TensorView& result : bound.outputs()) elements += static_cast<double>(result.count());
  return elements;
}

// What an instruction does to memory at one step, as far as other threads may notice.
struct Access {
  bool slot = false;
  std::int64_t begin = 0, end = 0;  // of memory in the arena; a slot's name twice
  bool write = false;
  bool own = false;  // of its own columns alone
  // Of those columns' tensor: only what is equal in both is cut at the same bytes.
  std::int64_t columns = 0;
  std::size_t element = 0;
};

bool meet(const Access& a, const Access& b) {
  if ((!a.write && !b.write) || a.slot != b.slot) return false;
  const bool overlap = a.slot ? a.begin == b.begin : a.begin < b.end && b.begin < a.end;
  const bool same_cut = a.own && b.own && a.begin == b.begin && a.columns == b.columns && a.element == b.element;
  return overlap && !same_cut;
}

// Finds where threads must meet, by going through the steps until nothing new shows: an instruction that touches what another
// thread touched since they last met, and one of the two writes, waits for all.
class Meetings {
 public:
  Meetings(const BoundScan& scan, const ProgramLayout& layout)
      : scan_(scan), body_(scan.body), place_(layout.regions[scan.body.index]), meet_before_(body_.instructions.size(), 0) {}

  std::vector<char> find() {
    // The names of slots go round in two steps; what one round finds holds for the next.
    for (int k = 0; k < 6; ++k) {
      for (std::size_t i = 0; i < body_.instructions.size(); ++i) {
        const std::vector<Access> now = accesses(body_.instructions[i], k);
        if (meet_before_[i] || touches(now)) {
          meet_before_[i] = 1;
          since_.clear();
        }
        since_.insert(since_.end(), now.begin(), now.end());
      }
    }
    return meet_before_;
  }

 private:
  bool touches(const std::vector<Access>& now) const {
    return std::any_of(now.begin(), now.end(), [&](const Access& a) {
      return std::any_of(since_.begin(), since_.end(), [&](const Access& b) { return meet(a, b); });
    });
  }

  std::vector<Access> accesses(const BoundInstruction& bound, int k) const {
    std::vector<Access> out;
    const Instruction& source = *bound.source;
    const std::int64_t columns = shared_columns(bound);
    for (std::size_t o = 0; o < bound.operands.size(); ++o) {
      const bool input = o < source.inputs.size();
      const std::int32_t v = input ? source.inputs[o] : source.outputs[o - source.inputs.size()];
      if (v < 0) continue;
      const TensorView& operand = bound.operands[o];
      Access a = place_of(body_.source->values[static_cast<std::size_t>(v)].storage, operand, k);
      a.write = !input;
      const auto& kernel = bound.kernel.by_columns;
      const bool reads_others = input && kernel && o < kernel->reads_other_columns.size() && kernel->reads_other_columns[o];
      a.own = columns > 0 && !reads_others && !operand.sizes.empty() && operand.sizes.back() == columns;
      a.columns = columns, a.element = size_of(operand.dtype);
      out.push_back(a);
    }
    return out;
  }

  Access place_of(const Storage& storage, const TensorView& operand, int k) const {
    Access a;
    if (storage.kind == Storage::Kind::kBlock) {
      a.begin = place_.blocks[static_cast<std::size_t>(storage.index)];
      a.end = a.begin + static_cast<std::int64_t>(operand.bytes());
    } else {
      a.slot = true;
      a.begin = a.end = slot_memory(scan_, storage.index, k);
    }
    return a;
  }

  const BoundScan& scan_;
  const BoundRegion& body_;
  const ProgramLayout::Region& place_;
  std::vector<char> meet_before_;
  std::vector<Access> since_;
};

}  // namespace

BoundScan::BoundScan() = default;
BoundScan::~BoundScan() = default;

std::int64_t slot_memory(const BoundScan& scan, std::int32_t slot, int step) {
  const auto states = static_cast<std::int32_t>(scan.states.size());
  const auto stacks = static_cast<std::int32_t>(scan.stacks);
  const std::int32_t first_result = scan.body.source->slots - states - stacks;
  const auto of_state = [&](std::int32_t s, int at) {
    const StateSpec& spec = scan.states[static_cast<std::size_t>(s)].spec;
    if (spec.mode == StateSpec::Mode::kInPlace) return std::int64_t{2} * s;
    // States that are read off one stack are one.
    for (std::int32_t before = 0; before < s && spec.mode == StateSpec::Mode::kStacked; ++before) {
      const StateSpec& other = scan.states[static_cast<std::size_t>(before)].spec;
      if (other.mode == StateSpec::Mode::kStacked && other.index == spec.index) s = before;
    }
    return std::int64_t{2} * s + at % 2;
  };
  if (slot < states) return of_state(slot, step);
  if (slot >= first_result && slot < first_result + states) return of_state(slot - first_result, step + 1);
  for (std::int32_t s = 0; s < states; ++s) {
    const StateSpec& spec = scan.states[static_cast<std::size_t>(s)].spec;
    const bool is_its = spec.mode == StateSpec::Mode::kStacked && slot == first_result + states + spec.index;
    if (is_its) return of_state(s, step + 1);
  }
  return std::int64_t{2} * slot + (slot >= first_result ? step % 2 : 0);
}

bool rows_keep_apart(const BoundScan& scan, const ProgramLayout& layout, std::int64_t rows) {
  const ProgramLayout::Region& place = layout.regions[scan.body.index];
  struct Range {
    std::int64_t begin, bytes;
  };
  std::vector<Range> ranges;
  const auto add = [&](std::int32_t block, std::size_t bytes) {
    ranges.push_back({place.blocks[static_cast<std::size_t>(block)], static_cast<std::int64_t>(bytes)});
  };
  for (const BoundScan::State& state : scan.states) {
    if (state.spec.mode == StateSpec::Mode::kAlternate) add(state.spec.index, state.bytes);
  }
  const auto states = static_cast<std::int32_t>(scan.states.size());
  const std::int32_t first_result = scan.body.source->slots - states - static_cast<std::int32_t>(scan.stacks);
  for (const BoundInstruction& bound : scan.body.instructions) {
    const Instruction& source = *bound.source;
    for (std::size_t o = 0; o < bound.operands.size(); ++o) {
      const std::int32_t v = o < source.inputs.size() ? source.inputs[o] : source.outputs[o - source.inputs.size()];
      if (v < 0) continue;
      const Storage& storage = scan.body.source->values[static_cast<std::size_t>(v)].storage;
      const TensorView& operand = bound.operands[o];
      if (storage.kind == Storage::Kind::kBlock) {
        add(storage.index, operand.bytes());
      } else if (storage.index >= states && storage.index < first_result) {
        continue;  // given
      }
      if (operand.sizes.empty() || operand.count() != rows * operand.sizes.back()) return false;
    }
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Range &a = ranges[i], &b = ranges[j];
      const bool overlap = a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
      if (overlap && (a.begin != b.begin || a.bytes != b.bytes)) return false;
    }
  }
  return true;
}

std::vector<char> meetings(const BoundScan& scan, const ProgramLayout& layout) { return Meetings(scan, layout).find(); }

void Barrier::wait() {
  const unsigned round = round_.load(std::memory_order_acquire);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    waiting_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    return;
  }
  // By the clock: how long a pause takes differs between processors by a factor of ten, and where there are fewer cores than
  // threads the one waited for may need this one.
  const std::chrono::microseconds patience = round == 0 ? kFirstPatience : kPatience;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto waits = [&] { return round_.load(std::memory_order_acquire) == round && !open_.load(std::memory_order_acquire); };
  while (waits()) {
    for (int i = 0; i < kPauses && waits(); ++i) pause();
    if (Clock::now() - begin > patience) std::this_thread::yield();
  }
}

ColumnRange columns_of(std::int64_t columns, int thread, int threads, std::int64_t step) {
  const std::int64_t steps = (columns + step - 1) / step;
  const auto cut = [&](std::int64_t t) { return std::min(columns, steps * t / threads * step); };
  return {cut(thread), cut(thread + 1)};
}

BoundRegion copy_of(const BoundRegion& body) {
  BoundRegion made;
  made.source = body.source, made.index = body.index, made.depth = body.depth;
  made.instructions.reserve(body.instructions.size());
  for (const BoundInstruction& bound : body.instructions) {
    BoundInstruction copy;
    copy.source = bound.source, copy.kernel = bound.kernel, copy.operands = bound.operands, copy.kept = bound.kept;
    made.instructions.push_back(std::move(copy));
  }
  index_slots(made);
  return made;
}

Obstacle obstacle_to_columns(const BoundScan& scan) {
  using Kind = Obstacle::Kind;
  const auto kernels = scan.body.instructions.size();
  if (scan.steps < kFewestSteps) return {Kind::kFewSteps, nullptr, -1, static_cast<double>(scan.steps), double{kFewestSteps}};
  if (const Obstacle many = Obstacle::beyond(Kind::kManyKernels, static_cast<double>(kernels), double{kMostInstructions})) {
    return many;
  }
  bool prepares = false;
  std::int64_t most = 0;
  const Instruction* largest = nullptr;
  for (const BoundInstruction& bound : scan.body.instructions) {
    if (bound.scan) return {Kind::kLoopInside, bound.source};
    prepares |= bound.kernel.by_columns && bound.kernel.by_columns->prepare;
    if (shared_columns(bound) > 0) continue;
    for (const TensorView& operand : bound.operands) {
      if (operand.count() > most) most = operand.count(), largest = bound.source;
    }
  }
  return prepares ? Obstacle{} : Obstacle{Kind::kNoWeights, largest};
}

namespace {

double operations_of(const BoundScan& scan) {
  double work = 0;
  for (const BoundInstruction& bound : scan.body.instructions) work += operations_of(bound);
  return work * static_cast<double>(scan.steps);
}

// Whether loops [first, last) are better off at the same time, with `threads` for all of them.
bool belong_together(const BoundRegion& root, std::size_t first, std::size_t last, int threads) {
  const auto loops = static_cast<int>(last - first);
  if (loops < 2 || threads < loops || threads % loops != 0) return false;
  double least = 0, most = 0;
  for (std::size_t i = first; i < last; ++i) {
    const BoundScan& scan = *root.instructions[i].scan;
    if (!scan.team || scan.team->by_rows) return false;  // by rows nobody waits anyhow
    const double work = operations_of(scan);
    least = i == first ? work : std::min(least, work);
    most = std::max(most, work);
  }
  return least >= kWorkOfLoop && most <= kUneven * least;
}

}  // namespace

void pair_teams(BoundRegion& root, const ProgramLayout& layout, int threads) {
  for (std::size_t first = 0; first < root.instructions.size();) {
    std::size_t last = first + 1;
    while (last < root.instructions.size() && root.instructions[last].source->beside) ++last;
    if (belong_together(root, first, last, threads)) {
      root.instructions[first].beside = last - first - 1;
      for (std::size_t i = first; i < last; ++i) {
        BoundScan& scan = *root.instructions[i].scan;
        scan.team = make_team(scan, layout, threads / static_cast<int>(last - first));
      }
    }
    first = last;
  }
}

std::unique_ptr<Team> make_team(const BoundScan& scan, const ProgramLayout& layout, int threads) {
  double work = 0, most_work = 0;
  const Instruction* costliest = nullptr;
  std::int64_t widest = 1, step = kColumnStep;
  for (const BoundInstruction& bound : scan.body.instructions) {
    const double operations = operations_of(bound);
    work += operations;
    if (operations > most_work) most_work = operations, costliest = bound.source;
    widest = std::max(widest, shared_columns(bound));
    if (bound.kernel.by_columns) step = std::lcm(step, bound.kernel.by_columns->step);
  }
  const std::int64_t most = (widest + step - 1) / step;
  const auto worth = static_cast<std::int64_t>(work / kWorkOfMember);
  const int size = static_cast<int>(std::clamp<std::int64_t>(std::min(worth, most), 1, threads));
  auto team = std::make_unique<Team>();
  if (threads == 1) {
    team->not_more = {Obstacle::Kind::kOneThread};
  } else if (worth < 2) {
    team->not_more = {Obstacle::Kind::kLittleWork, costliest, -1, work, 2 * kWorkOfMember};
  } else if (most < 2) {
    team->not_more = {Obstacle::Kind::kNarrow, costliest, -1, static_cast<double>(widest), static_cast<double>(step)};
  }
  // One alone meets nobody.
  team->meet_before.assign(scan.body.instructions.size(), 0);
  if (size > 1) team->meet_before = Meetings(scan, layout).find();
  for (int t = 0; t < size; ++t) {
    auto member = std::make_unique<Team::Member>();
    member->body = copy_of(scan.body);
    for (const BoundInstruction& bound : scan.body.instructions) {
      const std::int64_t columns = shared_columns(bound);
      member->ranges.push_back(columns == 0 ? ColumnRange{-1, -1} : columns_of(columns, t, size, step));
    }
    team->members.push_back(std::move(member));
  }
  return team;
}

}  // namespace graphrun
