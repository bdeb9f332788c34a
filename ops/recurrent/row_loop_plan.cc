#include "ops/recurrent/row_loop_plan.h"

#include <algorithm>
#include <map>

#include "ops/matmul/product_part.h"
#include "ops/recurrent/step_cycles.h"
#include "ops/round_up.h"
#include "runtime/cuda/matrix_units.h"

namespace graphrun {
namespace {

constexpr int kMostThreads = 512;
constexpr std::int64_t kMostKept = 16 << 10;  // bytes of an operand that each block copies

// The number of elements that one thread reads for one element of a part's result.
std::int64_t depth_of(const LoopPart& part) {
  return in_each_case(
      part, [](const PointwisePart&) { return std::int64_t{0}; }, [](const ElementPart&) { return std::int64_t{0}; },
      [](const ReductionPart& reduction) { return reduction.view.n; },
      [](const ProductPart& product) {
        std::int64_t deepest = 0;
        for (const MatrixProduct& p : product.group.products) deepest = std::max(deepest, p.k);
        return deepest;
      });
}

// The threads that a block may have, whole warps if there is room for one; and the most of them that can share an element.
int most_threads(const DeviceLimits& limits) {
  const int most = std::min(kMostThreads, limits.threads);
  return most >= cuda::kWarpThreads ? most / cuda::kWarpThreads * cuda::kWarpThreads : std::max(most, 1);
}
int most_lanes(const DeviceLimits& limits) {
  int lanes = cuda::kWarpThreads;
  while (most_threads(limits) % lanes != 0) lanes /= 2;
  return lanes;
}

// How many threads compute an element together. The order of its sum follows from this, so it depends neither on the number of
// rows nor on that of blocks.
int lanes_of(const RowLoopPlan::RowLoopMember& member, const DeviceLimits& limits) {
  constexpr int kOfAnySize = 8, kFewestTurns = 2;
  const std::int64_t depth = member.part == nullptr ? 0 : depth_of(*member.part);
  if (depth == 0) return 1;
  const int most = most_lanes(limits);
  if (!member.fixed) return std::min(most, kOfAnySize);
  int lanes = 1;
  while (2 * lanes <= most && kFewestTurns * 2 * lanes <= depth && member.each * 2 * lanes <= kMostThreads) lanes *= 2;
  return lanes;
}

// An estimate of the cycles of an instruction in a step, in blocks that have up to `rows` rows.
double cycles_of(const RowLoopPlan::RowLoopMember& member, std::int64_t rows, int threads) {
  const std::int64_t work = (member.of_each ? 1 : rows) * member.each * member.lanes;
  const auto turns = static_cast<double>((work + threads - 1) / threads);
  const auto terms = [&](std::int64_t depth) { return static_cast<double>((depth + member.lanes - 1) / member.lanes); };
  if (member.part == nullptr) return turns * step_cycles::kElement;
  return in_each_case(
      *member.part, [&](const PointwisePart&) { return turns * step_cycles::kElement; },
      [&](const ElementPart&) { return turns * step_cycles::kElement; },
      [&](const ReductionPart& part) { return turns * terms(part.view.n) * step_cycles::kTerm; },
      [&](const ProductPart& part) {
        double cycles = 0;
        for (std::size_t i = 0; i < part.group.products.size(); ++i) {
          const MatrixProduct& p = part.group.products[i];
          cycles += turns * terms(p.k) * step_cycles::kTerm;
          if (member.operands[part.group.b(i)].kept >= 0) continue;
          const auto bytes = static_cast<std::size_t>(p.k * p.n) * size_of(part.dtype);
          cycles += step_cycles::of_memory(static_cast<double>(bytes));
        }
        return cycles;
      });
}

// Whether the sizes of an instruction's operands are the same in every batch, except for the rows.
bool is_fixed(const BoundRegion& body, const BoundInstruction& bound) {
  const auto shape_of = [&](std::size_t operand) -> const Shape& {
    static const Shape none;
    const std::int32_t v = bound.source->operand(operand);
    return v < 0 ? none : body.source->values[static_cast<std::size_t>(v)].shape;
  };
  const Shape& result = shape_of(bound.source->inputs.size());
  for (std::size_t o = 0; o < bound.operands.size(); ++o) {
    const Shape& shape = shape_of(o);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool of_rows = axis == 0 && !result.empty() && shape[0] == result[0];
      if (!shape[axis].is_constant() && !of_rows) return false;
    }
  }
  return true;
}

// Whether a part may have inputs that are absent: a reduction's lengths may.
bool may_lack_inputs(const LoopPart& part) {
  return in_each_case(
      part, [](const ReductionPart&) { return true; }, [](const PointwisePart&) { return false; },
      [](const ElementPart&) { return false; }, [](const ProductPart&) { return false; });
}

// The reason why an instruction cannot be part of such a kernel.
Obstacle obstacle_of(const BoundInstruction& bound) {
  using Kind = Obstacle::Kind;
  constexpr std::int64_t kDeepest = 1024;  // a longer reduction should use more than a few threads
  const Instruction& source = *bound.source;
  if (source.kind == Instruction::Kind::kCopy) return {};
  if (bound.scan) return {Kind::kLoopInside, &source};
  const auto any_absent = [](const std::vector<std::int32_t>& values) {
    return std::any_of(values.begin(), values.end(), [](std::int32_t v) { return v < 0; });
  };
  const LoopPart* const part = bound.kernel.part.get();
  if (part == nullptr || any_absent(source.outputs)) return {Kind::kNoPart, &source};
  if (!may_lack_inputs(*part) && any_absent(source.inputs)) return {Kind::kNoPart, &source};
  return Obstacle::beyond(Kind::kDeep, static_cast<double>(depth_of(*part)), double{kDeepest}, &source);
}

// Assigns a place to every operand.
class RowPlaces {
 public:
  RowPlaces(const BoundScan& scan, const RowSharing& sharing, RowLoopPlan& plan) : scan_(scan), plan_(plan) {
    place_own(sharing);
  }

  // The operands of an instruction; `first` is the index of its first operand among all. Each slot has one place, however many
  // instructions use it, because the arguments of a launch are limited.
  std::vector<RowLoopPlan::RowLoopOperand> of(const BoundInstruction& bound, std::size_t first) {
    std::vector<RowLoopPlan::RowLoopOperand> operands;
    for (std::size_t o = 0; o < bound.operands.size(); ++o) {
      const Storage at = scan_.body.storage_of(bound, o);
      RowLoopPlan::RowLoopOperand operand;
      if (at.kind == Storage::Kind::kSlot) {
        const auto [found, fresh] = place_of_slot_.emplace(at.index, plan_.places.size());
        if (fresh) {
          const ScanSlots::Role role = scan_.slots.at(static_cast<std::size_t>(at.index)).role;
          plan_.places.push_back(first + o), plan_.stays.push_back(role == ScanSlots::Role::kInvariant);
          if (role == ScanSlots::Role::kSequence) plan_.ahead.push_back(ahead(bound, o, found->second));
        }
        operand.place = static_cast<std::int64_t>(found->second);
        if (fresh) kept_.push_back(keep(bound, o, found->second));
        operand.kept = kept_[found->second];
      } else if (at.kind == Storage::Kind::kBlock) {
        operand = own_[static_cast<std::size_t>(at.index)];
      }
      operand.dtype = bound.operands[o].dtype;
      operands.push_back(operand);
    }
    return operands;
  }

 private:
  // Gives everything that a step computes a place in the block's own memory. The arena will not do: blocks never wait for each
  // other, and values that share its bytes are divided at different positions.
  void place_own(const RowSharing& sharing) {
    std::vector<std::int64_t> bytes(sharing.of_each.size());
    for (const BoundInstruction& bound : scan_.body.instructions) {
      for (std::size_t o = bound.source->inputs.size(); o < bound.operands.size(); ++o) {
        const Storage at = scan_.body.storage_of(bound, o);
        if (at.kind != Storage::Kind::kBlock) continue;
        auto& most = bytes[static_cast<std::size_t>(at.index)];
        most = std::max(most, static_cast<std::int64_t>(bound.operands[o].bytes()));
      }
    }
    own_.assign(bytes.size(), {});
    const std::int64_t rows = (plan_.rows + plan_.blocks - 1) / plan_.blocks;
    std::int64_t end = 0;
    for (std::size_t b = 0; b < bytes.size(); ++b) {
      const bool of_each = sharing.of_each[b] != 0;
      if (bytes[b] == 0) continue;
      GRAPHRUN_CHECK(of_each || bytes[b] % plan_.rows == 0, "a result by rows that is no whole rows");
      const std::int64_t row = of_each ? 0 : bytes[b] / plan_.rows;
      own_[b].own = static_cast<std::int64_t>(plan_.own.size());
      plan_.own.push_back({end, row});
      end += round_up(of_each ? bytes[b] : row * rows, 16);
    }
    plan_.shared = static_cast<std::size_t>(end);
  }

  const Shape& shape_of(const BoundInstruction& bound, std::size_t o) const {
    return scan_.body.source->values[static_cast<std::size_t>(bound.source->operand(o))].shape;
  }

  RowLoopPlan::FetchedAhead ahead(const BoundInstruction& bound, std::size_t o, std::size_t place) const {
    const Shape &read = shape_of(bound, o), &made = shape_of(bound, bound.source->inputs.size());
    const bool by_rows = !read.empty() && !made.empty() && read[0] == made[0];
    const auto bytes = static_cast<std::int64_t>(bound.operands[o].bytes());
    return {place, by_rows ? bytes / plan_.rows : bytes, by_rows};
  }

  // The index in the plan's `kept` of an operand in a slot, -1 if it is not copied: it is small, of the same size in every
  // batch and the same at all steps, and there is room.
  std::int64_t keep(const BoundInstruction& bound, std::size_t o, std::size_t place) {
    const Shape& shape = shape_of(bound, o);
    const TensorView& operand = bound.operands[o];
    const auto bytes = static_cast<std::int64_t>(operand.bytes());
    const auto end = static_cast<std::int64_t>(plan_.shared) + round_up(bytes, 16);
    const bool constant = std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_constant(); });
    if (plan_.stays[place] == 0 || !constant) return -1;
    if (bytes == 0 || bytes > kMostKept || end > static_cast<std::int64_t>(plan_.most_shared)) return -1;
    plan_.kept.push_back({place, operand.dtype, operand.count(), static_cast<std::int64_t>(plan_.shared)});
    plan_.shared = static_cast<std::size_t>(end);
    return static_cast<std::int64_t>(plan_.kept.size()) - 1;
  }

  const BoundScan& scan_;
  RowLoopPlan& plan_;
  std::map<std::int32_t, std::size_t> place_of_slot_;  // by slot: index in the plan's places
  std::vector<std::int64_t> kept_;                     // by place: index in the plan's `kept`, or -1
  std::vector<RowLoopPlan::RowLoopOperand> own_;       // by block of the body
};

}  // namespace

Obstacle row_loop_obstacle(const BoundScan& scan, const RowSharing& sharing) {
  constexpr double kMostOfRow = 1 << 16;  // more work per row should use more than one block
  const double of_row = sharing.operations / static_cast<double>(sharing.rows);
  if (const Obstacle much = Obstacle::beyond(Obstacle::Kind::kMuchOfRow, of_row, kMostOfRow)) return much;
  for (const BoundInstruction& bound : scan.body.instructions) {
    if (const Obstacle obstacle = obstacle_of(bound)) return obstacle;
  }
  return {};
}

RowLoopPlan plan_row_loop(const BoundScan& scan, const RowSharing& sharing, const DeviceLimits& limits) {
  RowLoopPlan plan;
  plan.rows = sharing.rows, plan.steps = scan.steps, plan.reverse = scan.reverse, plan.most_shared = limits.shared;
  plan.blocks = std::min<std::int64_t>(plan.rows, limits.multiprocessors);
  RowPlaces places(scan, sharing, plan);
  std::int64_t widest = 1;
  std::size_t operands = 0;  // number of operands of all instructions so far
  for (std::size_t i = 0; i < scan.body.instructions.size(); ++i) {
    const BoundInstruction& bound = scan.body.instructions[i];
    RowLoopPlan::RowLoopMember member;
    member.name = bound.source->name;
    for (const Origin& origin : bound.source->origins) member.equations.push_back(origin.at);
    member.inputs = bound.inputs().size(), member.outputs = bound.outputs().size();
    member.operands = places.of(bound, operands);
    operands += bound.operands.size();
    member.of_each = sharing.shared[i] == 0;
    const std::int64_t all = bound.outputs()[0].count();
    member.each = member.of_each ? all : all / plan.rows;
    member.part = bound.kernel.part;
    member.fixed = is_fixed(scan.body, bound);
    member.lanes = lanes_of(member, limits);
    widest = std::max(widest, member.each * member.lanes);
    plan.members.push_back(std::move(member));
  }
  const std::int64_t rows = (plan.rows + plan.blocks - 1) / plan.blocks, together = widest * rows;
  // At least a warp, but never more than a block may have; the emulated device may allow fewer than a warp.
  plan.threads = static_cast<int>(std::min<std::int64_t>(
      std::max<std::int64_t>(round_up(together, cuda::kWarpThreads), cuda::kWarpThreads), most_threads(limits)));
  for (const RowLoopPlan::RowLoopMember& member : plan.members) plan.step_cycles += cycles_of(member, rows, plan.threads);
  return plan;
}

}  // namespace graphrun
