#include "runtime/program/arena.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "runtime/base/status.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {
namespace {

// With this many, the quadratic algorithm takes about a millisecond.
constexpr std::size_t kMostBlocksBySize = 1200;

std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw UserError(ExitCode::kNoRoom, "E0503 out-of-memory", "the arena would have more bytes than 63 bits count",
                    {"help: use a smaller batch or smaller sizes"});
  }
  return sum;
}

std::int64_t aligned(std::int64_t bytes) {
  constexpr auto kStep = static_cast<std::int64_t>(kAlignment);
  return checked_sum(bytes, kStep - 1) / kStep * kStep;
}

// Largest blocks first, each into the smallest gap between the placed blocks whose lifetimes overlap its own.
ArenaLayout by_size(const std::vector<ArenaBlock>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });

  struct Placed {
    std::int64_t begin, end;
    std::int32_t first, last;
  };
  std::vector<Placed> placed;  // by begin
  placed.reserve(blocks.size());
  ArenaLayout layout;
  layout.offsets.assign(blocks.size(), 0);
  for (std::size_t index : order) {
    const ArenaBlock& block = blocks[index];
    if (block.bytes == 0) continue;
    std::int64_t best = -1, best_gap = 0, end = 0;
    for (const Placed& other : placed) {
      if (other.last < block.first || block.last < other.first) continue;
      const std::int64_t gap = other.begin - end;
      if (gap >= block.bytes && (best < 0 || gap < best_gap)) best = end, best_gap = gap;
      end = std::max(end, other.end);
    }
    const std::int64_t offset = best < 0 ? end : best;
    const Placed here{offset, checked_sum(offset, block.bytes), block.first, block.last};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), here,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  here);
    layout.offsets[index] = offset;
    layout.peak = std::max(layout.peak, here.end);
  }
  return layout;
}

// The free pieces of an arena that grows at its end.
class FreeList {
 public:
  std::int64_t take(std::int64_t bytes) {
    if (auto fit = by_bytes_.lower_bound({bytes, 0}); fit != by_bytes_.end()) {
      const auto [size, offset] = *fit;
      remove(offset, size);
      if (size > bytes) add(offset + bytes, size - bytes);
      return offset;
    }
    // Nothing fits: extend a free piece at the very end.
    std::int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        offset = last;
        remove(last, size);
      }
    }
    end_ = checked_sum(offset, bytes);
    return offset;
  }

  void give(std::int64_t offset, std::int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        remove(before, size);
        offset = before;
        bytes += size;
      }
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      const std::int64_t size = next->second;
      remove(next->first, size);
      bytes += size;
    }
    add(offset, bytes);
  }

  std::int64_t end() const { return end_; }

 private:
  void add(std::int64_t offset, std::int64_t bytes) {
    by_offset_[offset] = bytes;
    by_bytes_.emplace(bytes, offset);
  }
  void remove(std::int64_t offset, std::int64_t bytes) {
    by_offset_.erase(offset);
    by_bytes_.erase({bytes, offset});
  }
  std::map<std::int64_t, std::int64_t> by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_bytes_;
  std::int64_t end_ = 0;
};

// In order of first position, each block into the smallest free piece that is large enough.
ArenaLayout by_time(const std::vector<ArenaBlock>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (blocks[a].first != blocks[b].first) return blocks[a].first < blocks[b].first;
    return blocks[a].bytes > blocks[b].bytes;
  });
  using Ending = std::pair<std::int32_t, std::size_t>;  // last position, then block
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> taken;
  FreeList free;
  ArenaLayout layout;
  layout.offsets.assign(blocks.size(), 0);
  for (std::size_t index : order) {
    const ArenaBlock& block = blocks[index];
    if (block.bytes == 0) continue;
    while (!taken.empty() && taken.top().first < block.first) {
      const std::size_t over = taken.top().second;
      taken.pop();
      free.give(layout.offsets[over], blocks[over].bytes);
    }
    layout.offsets[index] = free.take(block.bytes);
    taken.emplace(block.last, index);
  }
  layout.peak = free.end();
  return layout;
}

// The blocks of a region: its own, then one for each instruction that needs memory (a workspace, or a scan's body).
std::vector<ArenaBlock> blocks_of(const Region& region, const SymbolValues& symbols, const std::vector<Workspace>& workspaces) {
  const auto count = static_cast<std::int32_t>(region.instructions.size());
  // Instructions that may run at the same time allocate and free their memory together.
  std::vector<std::int32_t> begin(static_cast<std::size_t>(count) + 1), end(begin.size());
  for (std::int32_t i = 0; i <= count; ++i) begin[static_cast<std::size_t>(i)] = end[static_cast<std::size_t>(i)] = i;
  for (std::size_t i = 1; i < region.instructions.size(); ++i) {
    if (region.instructions[i].concurrent) begin[i] = begin[i - 1];
  }
  for (std::size_t i = region.instructions.size(); i-- > 1;) {
    if (region.instructions[i].concurrent) end[i - 1] = end[i];
  }
  std::vector<ArenaBlock> blocks;
  blocks.reserve(region.blocks.size() + region.instructions.size());
  const auto add = [&](std::int64_t bytes, std::int32_t first, std::int32_t last) {
    blocks.push_back({bytes, begin[static_cast<std::size_t>(first)], end[static_cast<std::size_t>(last)]});
  };
  for (const BlockSpec& block : region.blocks) add(block.bytes.evaluate(symbols), block.first, block.last);
  for (std::int32_t i = 0; i < count; ++i) {
    const Workspace& own = workspaces[static_cast<std::size_t>(i)];
    add(own.bytes, own.throughout ? 0 : i, own.throughout ? count : i);
  }
  return blocks;
}

}  // namespace

ArenaLayout assign_offsets(const std::vector<ArenaBlock>& blocks) {
  std::vector<ArenaBlock> rounded = blocks;
  for (ArenaBlock& block : rounded) block.bytes = aligned(block.bytes);
  ArenaLayout in_time = by_time(rounded);
  if (blocks.size() > kMostBlocksBySize) return in_time;
  ArenaLayout in_size = by_size(rounded);
  return in_size.peak <= in_time.peak ? in_size : in_time;
}

ProgramLayout layout(const Program& program, const SymbolValues& symbols, const Workspaces& workspaces) {
  const std::size_t count = program.regions.size();
  ProgramLayout result;
  result.regions.resize(count);
  std::vector<std::vector<std::int64_t>> offsets(count);  // within each region's part
  // For a scan: the bytes of its body, with all copies. Its own workspace follows them.
  const auto body_bytes = [&result](const Instruction& scan, const Workspace& of) {
    return aligned(of.copies * result.regions[static_cast<std::size_t>(scan.scan.region)].bytes);
  };
  // Bodies follow the regions that contain them: sizes are computed from the last to the first, offsets from the first to the
  // last.
  for (std::size_t r = count; r-- > 0;) {
    const Region& region = program.regions[r];
    std::vector<Workspace> own(region.instructions.size());
    if (r < workspaces.size()) own = workspaces[r];
    for (std::size_t i = 0; i < region.instructions.size(); ++i) {
      const Instruction& instruction = region.instructions[i];
      if (instruction.kind != Instruction::Kind::kScan) continue;
      own[i].bytes += body_bytes(instruction, own[i]);
    }
    ArenaLayout here = assign_offsets(blocks_of(region, symbols, own));
    result.regions[r].bytes = here.peak;
    offsets[r] = std::move(here.offsets);
  }
  for (std::size_t r = 0; r < count; ++r) {
    ProgramLayout::RegionLayout& out = result.regions[r];
    const Region& region = program.regions[r];
    for (std::int64_t& offset : offsets[r]) offset += out.base;
    const auto split = offsets[r].begin() + static_cast<std::ptrdiff_t>(region.blocks.size());
    out.blocks.assign(offsets[r].begin(), split);
    out.workspaces.assign(split, offsets[r].end());
    for (std::size_t i = 0; i < region.instructions.size(); ++i) {
      if (region.instructions[i].kind != Instruction::Kind::kScan) continue;
      result.regions[static_cast<std::size_t>(region.instructions[i].scan.region)].base = out.workspaces[i];
      if (r < workspaces.size()) out.workspaces[i] += body_bytes(region.instructions[i], workspaces[r][i]);
    }
  }
  result.bytes = count == 0 ? 0 : result.regions[0].bytes;
  return result;
}

}  // namespace graphrun
