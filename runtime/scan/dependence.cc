#include "runtime/scan/dependence.h"

#include <algorithm>

#include "runtime/scan/columns.h"

namespace graphrun {
namespace {

// A memory access of an instruction at one step, as far as other threads can observe it.
struct Access {
  bool slot = false;
  std::int64_t begin = 0, end = 0;  // a range of the arena; for a slot's name, both are equal
  bool write = false;
  bool own = false;  // limited to its own columns
  // The number of columns of the tensor: only tensors with equally many are cut at the same bytes.
  std::int64_t columns = 0;
  std::size_t element = 0;
};

// Whether threads that do `a` and `b` must be ordered by a barrier.
bool conflict(const Access& a, const Access& b) {
  if ((!a.write && !b.write) || a.slot != b.slot) return false;
  const bool overlap = a.slot ? a.begin == b.begin : a.begin < b.end && b.begin < a.end;
  const bool same_cut = a.own && b.own && a.begin == b.begin && a.columns == b.columns && a.element == b.element;
  return overlap && !same_cut;
}

// Finds where barriers are needed by walking the steps until a fixed point: an instruction needs a barrier before it if it
// touches memory that another thread touched since the last barrier, and at least one of the two writes.
class BarrierFinder {
 public:
  BarrierFinder(const BoundScan& scan, const ProgramLayout& layout, const ReadElsewhere& elsewhere)
      : scan_(scan),
        body_(scan.body),
        place_(layout.regions[scan.body.index]),
        elsewhere_(elsewhere),
        barrier_before_(body_.instructions.size(), 0) {}

  std::vector<char> find() {
    // The names of slots alternate between two steps; a barrier found in one round stays in the next.
    for (int k = 0; k < 6; ++k) {
      for (std::size_t i = 0; i < body_.instructions.size(); ++i) {
        const std::vector<Access> now = accesses(i, k);
        if (barrier_before_[i] || touches(now)) {
          barrier_before_[i] = 1;
          since_.clear();
        }
        since_.insert(since_.end(), now.begin(), now.end());
      }
    }
    return barrier_before_;
  }

 private:
  bool touches(const std::vector<Access>& now) const {
    return std::any_of(now.begin(), now.end(), [&](const Access& a) {
      return std::any_of(since_.begin(), since_.end(), [&](const Access& b) { return conflict(a, b); });
    });
  }

  std::vector<Access> accesses(std::size_t instruction, int k) const {
    std::vector<Access> out;
    const BoundInstruction& bound = body_.instructions[instruction];
    const Instruction& source = *bound.source;
    const std::int64_t columns = shared_columns(bound);
    for (std::size_t o = 0; o < bound.operands.size(); ++o) {
      const bool input = o < source.inputs.size();
      if (source.operand(o) < 0 || (input && elsewhere_ && elsewhere_(instruction, o))) continue;
      const TensorView& operand = bound.operands[o];
      Access a = place_of(body_.storage_of(bound, o), operand, k);
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
      a.begin = a.end = slot_memory(scan_, static_cast<std::size_t>(storage.index), k);
    }
    return a;
  }

  const BoundScan& scan_;
  const BoundRegion& body_;
  const ProgramLayout::RegionLayout& place_;
  const ReadElsewhere elsewhere_;
  std::vector<char> barrier_before_;
  std::vector<Access> since_;
};

// Whether a row of an instruction's results may read more of an input, which has as many rows, than the same row.
bool reads_other_rows(const BoundInstruction& bound, std::size_t input) {
  if (bound.source->kind == Instruction::Kind::kCopy) return false;
  const auto& kernel = bound.kernel.by_rows;
  return !kernel || (input < kernel->reads_other_rows.size() && kernel->reads_other_rows[input]);
}

}  // namespace

std::int64_t slot_memory(const BoundScan& scan, std::size_t slot, int step) {
  using Role = ScanSlots::Role;
  const auto of_state = [&](std::size_t s, int at) {
    const StateSpec& spec = scan.states[s].spec;
    if (spec.mode == StateSpec::Mode::kInPlace) return static_cast<std::int64_t>(2 * s);
    // States that are read from the same stack are one.
    for (std::size_t before = 0; before < s && spec.mode == StateSpec::Mode::kStacked; ++before) {
      const StateSpec& other = scan.states[before].spec;
      if (other.mode == StateSpec::Mode::kStacked && other.index == spec.index) s = before;
    }
    return static_cast<std::int64_t>(2 * s) + at % 2;
  };
  const ScanSlots::Slot found = scan.slots.at(slot);
  if (found.role == Role::kState) return of_state(found.index, step);
  if (found.role == Role::kNextState) return of_state(found.index, step + 1);
  if (found.role != Role::kStack) return static_cast<std::int64_t>(2 * slot);
  for (std::size_t s = 0; s < scan.states.size(); ++s) {
    const StateSpec& spec = scan.states[s].spec;
    const bool is_its = spec.mode == StateSpec::Mode::kStacked && static_cast<std::size_t>(spec.index) == found.index;
    if (is_its) return of_state(s, step + 1);
  }
  return static_cast<std::int64_t>(2 * slot) + step % 2;
}

std::vector<char> barriers_before(const BoundScan& scan, const ProgramLayout& layout, const ReadElsewhere& elsewhere) {
  return BarrierFinder(scan, layout, elsewhere).find();
}

bool rows_keep_apart(const BoundScan& scan, const ProgramLayout& layout, std::int64_t rows) {
  const ProgramLayout::RegionLayout& place = layout.regions[scan.body.index];
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
  for (const BoundInstruction& bound : scan.body.instructions) {
    for (std::size_t o = 0; o < bound.operands.size(); ++o) {
      if (bound.source->operand(o) < 0) continue;
      const Storage storage = scan.body.storage_of(bound, o);
      const TensorView& operand = bound.operands[o];
      if (storage.kind == Storage::Kind::kBlock) {
        add(storage.index, operand.bytes());
      } else if (scan.slots.is_given(static_cast<std::size_t>(storage.index))) {
        continue;
      }
      if (operand.sizes.empty() || operand.count() != rows * operand.sizes.back()) return false;
      if (rows > 1 && o < bound.source->inputs.size() && reads_other_rows(bound, o)) return false;
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

}  // namespace graphrun
