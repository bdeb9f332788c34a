#include "ops/recurrent/loop_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ops/recurrent/loop_passed.h"
#include "ops/recurrent/step_cycles.h"
#include "ops/round_up.h"
#include "runtime/scan/dependence.h"

namespace graphrun {
namespace {

// The fewest columns for a block of a cluster: one tile of the matrix units.
constexpr std::int64_t kColumnsOfBlock = cuda::kUnitColumns;
// Elements of the summed axis in a tile of the narrowest type; the fewest columns for which shares are rounded up to tiles.
constexpr std::int64_t kColumnsOfTile = cuda::BFloat16::kInWord * cuda::kUnitWords, kWideColumns = 128;

// How matrix units multiply a part's products; null if they do not.
const UnitForm* form_of(const ProductPart& part, const DeviceLimits& limits) {
  const bool multiplies = part.precision == ProductPrecision::kFloat32 ? limits.splits_float32 : limits.matrix_units;
  return multiplies && part.dtype == DType::kFloat32 ? &unit_form(part.precision) : nullptr;
}

// The instruction of a body that computes an operand, and whether it did so in the previous step.
struct Maker {
  std::size_t instruction, result;
  bool last_step;
};
std::optional<Maker> maker_of(const BoundScan& scan, std::size_t reader, std::size_t input) {
  const std::vector<BoundInstruction>& body = scan.body.instructions;
  const Storage read = scan.body.storage_of(body[reader], input);
  const auto memory = [&](const Storage& slot, int step) {
    return slot_memory(scan, static_cast<std::size_t>(slot.index), step);
  };
  // Searches backwards for the last instruction that wrote there, in this step or the previous one.
  for (std::size_t back = 1; back < body.size() + 1; ++back) {
    const bool last_step = back > reader;
    const std::size_t i = last_step ? reader + body.size() - back : reader - back;
    for (std::size_t r = 0; r < body[i].source->outputs.size(); ++r) {
      const Storage made = scan.body.storage_of(body[i], body[i].source->inputs.size() + r);
      if (made.kind != read.kind) continue;
      const bool same = made.kind == Storage::Kind::kBlock ? !last_step && made.index == read.index
                                                           : memory(made, last_step ? 1 : 2) == memory(read, 2);
      if (same) return Maker{i, r, last_step};
    }
  }
  return std::nullopt;
}

// Fills in a plan.
class LoopPlanner {
 public:
  LoopPlanner(const BoundScan& scan, const ProgramLayout& layout, const DeviceLimits& limits);
  LoopPlan take() { return std::move(plan_); }

 private:
  void find_local(const BoundScan& scan);
  void find_passed(const BoundScan& scan);
  bool take_clusters(const BoundScan& scan, const ProgramLayout& layout);
  void take_grid(const BoundScan& scan, const ProgramLayout& layout);
  bool has_rows_apart(const BoundScan& scan, const ProgramLayout& layout) const;
  bool only_passed_is_awaited(const BoundScan& scan, const ProgramLayout& layout) const;
  std::int64_t widest_columns() const;
  double factor_cycles() const;
  double step_cycles() const;
  void place();
  void place_weights();
  void place_passed();
  void place_local();
  bool stages(const LoopPlan::LoopMember& product) const;
  std::size_t least_piece(const LoopPlan::LoopMember& product) const;
  std::size_t weight_bytes(const LoopPlan::LoopMember& product) const;
  std::size_t local_bytes(const LoopPlan::LoopMember& product) const;
  void deepen_piece();

  const DeviceLimits limits_;
  LoopPlan plan_;
};

LoopPlanner::LoopPlanner(const BoundScan& scan, const ProgramLayout& layout, const DeviceLimits& limits) : limits_(limits) {
  plan_.steps = scan.steps, plan_.reverse = scan.reverse, plan_.most_shared = limits.shared;
  const std::vector<char> barrier_before = barriers_before(scan, layout);
  for (std::size_t i = 0; i < scan.body.instructions.size(); ++i) {
    const BoundInstruction& bound = scan.body.instructions[i];
    LoopPlan::LoopMember member;
    member.name = bound.source->name;
    for (std::size_t o = 0; o < bound.operands.size(); ++o) {
      const std::int32_t v = bound.source->operand(o);
      member.operand_names.push_back(v < 0 ? "" : scan.body.source->values[static_cast<std::size_t>(v)].name);
    }
    for (const Origin& origin : bound.source->origins) member.equations.push_back(origin.at);
    member.place = plan_.places;
    member.inputs = bound.inputs().size(), member.outputs = bound.outputs().size();
    plan_.places += member.inputs + member.outputs;
    const TensorView& result = bound.outputs()[0];
    member.columns = result.sizes.empty() ? 1 : result.sizes.back();
    member.rows = member.columns == 0 ? 0 : result.count() / member.columns;
    if (bound.kernel.part != nullptr) {
      in_each_case(
          *bound.kernel.part, [&](const ProductPart& part) { member.product = &part; },
          [&](const PointwisePart& part) { member.pointwise = &part; },
          [&](const ElementPart& part) { member.element = &part; },
          [](const ReductionPart&) { throw InternalError("a reduction in a loop by columns"); });
    }
    // A product of a matrix with a vector has one column, which is not an axis of its result.
    if (member.product != nullptr) {
      member.rows = member.product->group.products[0].m, member.columns = member.product->group.products[0].n;
    }
    member.copied = result.dtype;
    member.waits = barrier_before[i] != 0;
    if (member.product != nullptr) member.form = form_of(*member.product, limits_);
    plan_.members.push_back(member);
  }
  find_local(scan);
  plan_.threads = plan_.has_units() ? static_cast<int>(round_up(limits_.threads, cuda::kWarpThreads)) : limits_.threads;
  if (!take_clusters(scan, layout)) take_grid(scan, layout);
  plan_.step_cycles = step_cycles();
  GRAPHRUN_CHECK(plan_.workspace() <= LoopKernel::kWorkspace + graphrun::passed_bytes(scan), "what the blocks of a loop pass");
}

// Finds the products whose results are read only by pointwise work of the same step, element by element.
void LoopPlanner::find_local(const BoundScan& scan) {
  std::vector<char> can(plan_.members.size(), 0);
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const LoopPlan::LoopMember& m = plan_.members[i];
    // Whether nothing remains of a result after the step: it is in a block, or another one of the same step replaces it.
    const auto is_temporary = [&](std::size_t r) {
      const Storage made = scan.body.storage_of(scan.body.instructions[i], m.inputs + r);
      if (made.kind == Storage::Kind::kBlock) return true;
      for (std::size_t j = i + 1; j < plan_.members.size(); ++j) {
        for (std::size_t other = 0; other < plan_.members[j].outputs; ++other) {
          const Storage later = scan.body.storage_of(scan.body.instructions[j], plan_.members[j].inputs + other);
          if (later.kind == made.kind && later.index == made.index) return true;
        }
      }
      return false;
    };
    can[i] = m.product != nullptr && m.product->dtype == DType::kFloat32;
    for (std::size_t r = 0; r < m.outputs; ++r) can[i] = can[i] && is_temporary(r);
  }
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    LoopPlan::LoopMember& m = plan_.members[i];
    const BoundInstruction& bound = scan.body.instructions[i];
    m.from_product.resize(m.inputs);
    for (std::size_t k = 0; k < m.inputs; ++k) {
      if (bound.source->operand(k) < 0) continue;
      const std::optional<Maker> maker = maker_of(scan, i, k);
      if (!maker || !can[maker->instruction]) continue;
      const LoopPlan::LoopMember& from = plan_.members[maker->instruction];
      const Sizes& read = bound.inputs()[k].sizes;
      const bool alike = from.rows == m.rows && from.columns == m.columns && !read.empty() && read.back() == m.columns &&
                         bound.inputs()[k].count() == m.rows * m.columns;
      if (m.pointwise != nullptr && !maker->last_step && alike) {
        m.from_product[k] = {maker->instruction, maker->result};
      } else {
        can[maker->instruction] = 0;
      }
    }
  }
  for (LoopPlan::LoopMember& m : plan_.members) {
    for (auto& from : m.from_product) {
      if (from && !can[from->first]) from.reset();
    }
  }
}

// Finds the left factors that the loop computes itself and passes in the layout that its products read. On a grid, only
// products on matrix units use this: rounded, the factors are at most half as large, and no block has to copy them to shared
// memory and rearrange them.
void LoopPlanner::find_passed(const BoundScan& scan) {
  plan_.passed.clear();
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    LoopPlan::LoopMember& m = plan_.members[i];
    m.passes.assign(m.outputs, -1);
    if (m.product == nullptr) continue;
    m.reads_passed.assign(m.product->group.terms(), -1), m.of_last_step.assign(m.product->group.terms(), 0);
  }
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    LoopPlan::LoopMember& m = plan_.members[i];
    if (m.product == nullptr || (!plan_.in_clusters && m.form == nullptr)) continue;
    for (std::size_t t = 0; t < m.product->group.terms(); ++t) {
      const std::size_t input = m.product->group.a(t);
      const std::optional<Maker> maker = maker_of(scan, i, input);
      if (!maker) continue;
      LoopPlan::LoopMember& from = plan_.members[maker->instruction];
      const std::int64_t inner = m.product->group.products[t].k;
      const TensorView& made = scan.body.instructions[maker->instruction].outputs()[maker->result];
      if (from.rows != m.rows || from.columns != inner || made.dtype != m.product->dtype) continue;
      int& number = from.passes[maker->result];
      const std::int32_t slot = scan.body.storage_of(scan.body.instructions[i], input).index;
      if (number >= 0) {
        const LoopPlan::Passed& passed = plan_.passed[static_cast<std::size_t>(number)];
        // If two products round a factor in different ways, it is passed as the first one reads it; the other reads the
        // original. So does a product with another state of the same next value, which may begin with another value.
        const bool begins_elsewhere = maker->last_step && passed.begins_at >= 0 && passed.begins_in != slot;
        if (plan_.members[passed.reader].form != m.form || begins_elsewhere) continue;
      } else {
        number = static_cast<int>(plan_.passed.size());
        plan_.passed.push_back({maker->instruction, maker->result, i, inner});
      }
      if (maker->last_step) {
        LoopPlan::Passed& passed = plan_.passed[static_cast<std::size_t>(number)];
        passed.begins_at = static_cast<std::int64_t>(m.place + input), passed.begins_in = slot;
      }
      m.reads_passed[t] = number, m.of_last_step[t] = maker->last_step;
    }
  }
}

// Chooses the largest clusters in which each block has tiles of columns of its own, if they have room for all weights. The
// barriers of a step are then within a cluster, and clusters, unlike a grid's blocks, need not all be on the device at once.
bool LoopPlanner::take_clusters(const BoundScan& scan, const ProgramLayout& layout) {
  if (!plan_.synchronizes() || plan_.members[0].rows == 0 || !has_rows_apart(scan, layout)) return false;
  plan_.in_clusters = true;
  find_passed(scan);
  const std::int64_t widest = widest_columns();
  // Blocks send whole tiles to each other if their columns begin at tiles; that costs the matrix units little or nothing.
  const bool on_units = std::any_of(plan_.passed.begin(), plan_.passed.end(),
                                    [&](const LoopPlan::Passed& p) { return plan_.members[p.reader].form != nullptr; });
  plan_.together = on_units && widest >= kWideColumns ? kColumnsOfTile : loop::kColumnsTogether;
  for (std::size_t i = limits_.clusters.size(); i-- > 0;) {
    plan_.column_parts = DeviceLimits::cluster_size(i);
    plan_.row_parts = std::min<std::int64_t>(limits_.clusters[i], plan_.members[0].rows);
    if (plan_.row_parts == 0 || widest < plan_.column_parts * kColumnsOfBlock) continue;
    place();
    if (!plan_.keeps_weights() || !plan_.fits()) continue;
    plan_.arrives = only_passed_is_awaited(scan, layout);
    return true;
  }
  plan_.in_clusters = false;
  plan_.together = loop::kColumnsTogether;
  return false;
}

// Whether no barrier would be needed if all blocks had the passed factors, and every block has a part of each.
bool LoopPlanner::only_passed_is_awaited(const BoundScan& scan, const ProgramLayout& layout) const {
  const auto is_passed = [&](std::size_t i, std::size_t operand) {
    const LoopPlan::LoopMember& m = plan_.members[i];
    for (std::size_t t = 0; t < m.reads_passed.size(); ++t) {
      if (m.reads_passed[t] >= 0 && m.product->group.a(t) == operand) return true;
    }
    return false;
  };
  const std::vector<char> barriers = barriers_before(scan, layout, is_passed);
  if (plan_.column_parts < 2 || std::any_of(barriers.begin(), barriers.end(), [](char needed) { return needed != 0; })) {
    return false;
  }
  return std::all_of(plan_.passed.begin(), plan_.passed.end(), [&](const LoopPlan::Passed& p) {
    const LoopPlan::LoopMember& maker = plan_.members[p.maker];
    return (plan_.column_parts - 1) * plan_.columns_of(maker) < maker.columns;
  });
}

// Uses all blocks, as long as each has columns of its own: more parts would leave less to compute between barriers. With matrix
// units, the rows are divided too if that makes a step cheaper: each block then reads fewer rows of what others computed, and
// has more columns of the weights.
void LoopPlanner::take_grid(const BoundScan& scan, const ProgramLayout& layout) {
  find_passed(scan);
  const std::int64_t most_columns = (widest_columns() + loop::kColumnsTogether - 1) / loop::kColumnsTogether;
  const auto take = [&](std::int64_t row_parts) {
    plan_.row_parts = row_parts;
    plan_.column_parts =
        std::clamp<std::int64_t>(most_columns, 1, std::max<std::int64_t>(1, limits_.multiprocessors / row_parts));
    place();
  };
  std::int64_t best = 1;
  take(best);
  if (!plan_.passed.empty() && plan_.synchronizes() && has_rows_apart(scan, layout)) {
    const std::int64_t most = std::min<std::int64_t>(
        {kMostRowParts, limits_.multiprocessors, loop::tiles_of(plan_.members[0].rows, cuda::kUnitRows)});
    const bool kept = plan_.keeps_weights();
    double least = factor_cycles();
    for (std::int64_t parts = 2; parts <= most; ++parts) {
      take(parts);
      if (!plan_.fits() || (kept && !plan_.keeps_weights()) || factor_cycles() >= least) continue;
      best = parts, least = factor_cycles();
    }
  }
  take(best);
}

// Whether all results have the same rows, none of which depends on another.
bool LoopPlanner::has_rows_apart(const BoundScan& scan, const ProgramLayout& layout) const {
  return std::all_of(plan_.members.begin(), plan_.members.end(),
                     [&](const LoopPlan::LoopMember& m) { return m.rows == plan_.members[0].rows; }) &&
         rows_keep_apart(scan, layout, plan_.members[0].rows);
}

std::int64_t LoopPlanner::widest_columns() const {
  std::int64_t widest = 1;
  for (const LoopPlan::LoopMember& m : plan_.members) widest = std::max(widest, m.columns);
  return widest;
}

// An estimate of the cycles that a block takes to read the factors of a step's products on matrix units.
double LoopPlanner::factor_cycles() const {
  double cycles = 0;
  for (const LoopPlan::LoopMember& m : plan_.members) {
    if (m.product == nullptr || m.form == nullptr) continue;
    const std::int64_t row_tiles = plan_.row_tiles_of(m), column_tiles = plan_.column_tiles_of(m);
    // The number of times that each factor is read.
    const std::int64_t down = loop::tiles_of(row_tiles, loop::warp_rows_of(row_tiles));
    const std::int64_t across = loop::tiles_of(column_tiles, loop::warp_columns_of(column_tiles));
    std::int64_t left = 0;
    for (std::size_t t = 0; t < m.product->group.terms(); ++t) {
      left += row_tiles * loop::tiles_deep(m.product->group.products[t].k, m.form->in_word) * loop::kLeftTileBytes;
    }
    const auto weights = static_cast<double>(static_cast<std::int64_t>(weight_bytes(m)) * down);
    cycles += step_cycles::of_memory(static_cast<double>(left * across));
    cycles += m.resident >= 0 ? step_cycles::of_own(weights) : step_cycles::of_memory(weights);
  }
  return cycles;
}

// An estimate of the cycles of a step.
double LoopPlanner::step_cycles() const {
  double cycles = factor_cycles();
  const auto turns = [&](std::int64_t work) { return static_cast<double>((work + plan_.threads - 1) / plan_.threads); };
  for (const LoopPlan::LoopMember& m : plan_.members) {
    if (m.waits) cycles += plan_.in_clusters ? step_cycles::kClusterBarrier : step_cycles::kGridBarrier;
    const std::int64_t rows = plan_.rows_of(m), columns = plan_.columns_of(m);
    if (m.product == nullptr) {
      cycles += turns(rows * columns) * step_cycles::kElement;
      continue;
    }
    if (m.form != nullptr) continue;
    std::int64_t terms = 0;
    for (std::size_t t = 0; t < m.product->group.terms(); ++t) terms += m.product->group.products[t].k;
    const std::int64_t width = static_cast<std::int64_t>(m.product->group.groups()) * columns;
    const std::int64_t tiles = loop::tiles_of(rows, loop::kTileRows) * loop::tiles_of(width, loop::kTileColumns);
    cycles += turns(tiles) * static_cast<double>(terms) * step_cycles::kTermOfTile;
    if (m.resident < 0) cycles += step_cycles::of_memory(static_cast<double>(weight_bytes(m)));
  }
  return cycles;
}

// The layout of shared memory: addresses of operands, counters, weights, in clusters the passed factors, then the piece of left
// factors. On a grid, passed factors are in the device's memory, for each part of the rows.
void LoopPlanner::place() {
  plan_.piece_at = plan_.address_bytes() + plan_.counter_bytes(), plan_.piece_bytes = 0, plan_.deep = 0;
  place_passed();
  place_weights();
  if (plan_.in_clusters) {
    for (LoopPlan::Passed& p : plan_.passed) p.at += plan_.piece_at;
    plan_.piece_at += plan_.passed_bytes;
  }
  place_local();
  deepen_piece();
}

void LoopPlanner::place_passed() {
  plan_.passed_bytes = 0;
  for (LoopPlan::Passed& p : plan_.passed) {
    const LoopPlan::LoopMember& reader = plan_.members[p.reader];
    const auto element = static_cast<std::int64_t>(size_of(reader.product->dtype));
    const std::int64_t rows = plan_.rows_of(reader);
    const std::int64_t bytes = reader.form == nullptr ? p.inner * loop::padded_rows(static_cast<int>(rows)) * element
                                                      : loop::rounded_left_bytes(rows, p.inner, reader.form->in_word);
    p.at = plan_.passed_bytes, p.bytes = static_cast<std::size_t>(round_up(bytes, 16));
    plan_.passed_bytes += 2 * p.bytes;
  }
}

// Places the results that can be local, where there is room besides the smallest piece of left factors.
void LoopPlanner::place_local() {
  for (LoopPlan::LoopMember& m : plan_.members) m.local = -1;
  for (const LoopPlan::LoopMember& reader : plan_.members) {
    for (const auto& from : reader.from_product) {
      if (!from) continue;
      LoopPlan::LoopMember& m = plan_.members[from->first];
      const std::size_t bytes = local_bytes(m);
      if (m.local >= 0 || plan_.piece_at + bytes + plan_.piece_bytes > limits_.shared) continue;
      m.local = static_cast<std::int64_t>(plan_.piece_at);
      plan_.piece_at += bytes;
    }
  }
}

// Whether a left factor is staged piece by piece.
bool LoopPlanner::stages(const LoopPlan::LoopMember& m) const {
  return std::any_of(m.reads_passed.begin(), m.reads_passed.end(), [](int p) { return p < 0; });
}

// The smallest piece of left factors with which a product can run.
std::size_t LoopPlanner::least_piece(const LoopPlan::LoopMember& m) const {
  if (m.form == nullptr) {
    if (!stages(m)) return 0;
    return static_cast<std::size_t>(loop::kDeep * round_up(plan_.rows_of(m), loop::kTileRows)) * size_of(m.product->dtype);
  }
  const std::int64_t tile = stages(m) ? loop::tiles_of(plan_.rows_of(m), cuda::kUnitRows) * loop::kLeftTileBytes : 0;
  return static_cast<std::size_t>(std::max<std::int64_t>(tile, plan_.threads * loop::kSumBytes));
}

std::size_t LoopPlanner::weight_bytes(const LoopPlan::LoopMember& m) const {
  const std::int64_t own = plan_.columns_of(m);
  const std::vector<MatrixProduct>& products = m.product->group.products;
  std::int64_t bytes = 0;
  if (m.form == nullptr) {
    for (const MatrixProduct& p : products) bytes += p.k * own * static_cast<std::int64_t>(size_of(m.product->dtype));
  } else {
    const std::int64_t column_tiles = plan_.column_tiles_of(m);
    for (std::size_t t = 0; t < m.product->group.terms(); ++t)
      bytes += column_tiles * loop::tiles_deep(products[t].k, m.form->in_word) * loop::kRightTileBytes;
  }
  return static_cast<std::size_t>(round_up(bytes, 16));
}

std::size_t LoopPlanner::local_bytes(const LoopPlan::LoopMember& m) const {
  const std::int64_t elements = static_cast<std::int64_t>(m.outputs) * plan_.rows_of(m) * plan_.columns_of(m);
  return static_cast<std::size_t>(round_up(elements * static_cast<std::int64_t>(size_of(m.product->dtype)), 16));
}

// Places the weights that fit next to everything else, in the order of their products.
void LoopPlanner::place_weights() {
  const std::size_t behind = plan_.in_clusters ? plan_.passed_bytes : 0;
  for (const LoopPlan::LoopMember& m : plan_.members) {
    if (m.product != nullptr) plan_.piece_bytes = std::max(plan_.piece_bytes, least_piece(m));
  }
  for (LoopPlan::LoopMember& m : plan_.members) {
    m.resident = -1;
    if (m.product == nullptr) continue;
    const std::size_t bytes = weight_bytes(m);
    if (plan_.piece_at + bytes + behind + plan_.piece_bytes > limits_.shared) continue;
    m.resident = static_cast<std::int64_t>(plan_.piece_at);
    plan_.piece_at += bytes;
  }
}

// Enlarges the piece for products on matrix units: the more it holds, the fewer barriers a block needs.
void LoopPlanner::deepen_piece() {
  const auto room = static_cast<std::int64_t>(limits_.shared) - static_cast<std::int64_t>(plan_.piece_at);
  const std::int64_t sums = plan_.threads * loop::kSumBytes;  // bytes of one tile's sums
  std::int64_t most = 0;
  for (const LoopPlan::LoopMember& m : plan_.members) {
    if (m.form == nullptr) continue;
    most = std::max<std::int64_t>(most,
                                  loop::warp_columns_of(plan_.column_tiles_of(m)) * loop::warp_rows_of(plan_.row_tiles_of(m)));
  }
  plan_.sums = most == 0 ? 0 : std::clamp<std::int64_t>(room / sums, 1, most);
  plan_.piece_bytes = std::max(plan_.piece_bytes, static_cast<std::size_t>(plan_.sums * sums));
  std::int64_t deepest = 0, row_tiles = 1;
  for (const LoopPlan::LoopMember& m : plan_.members) {
    if (m.form == nullptr || !stages(m)) continue;
    row_tiles = std::max(row_tiles, loop::tiles_of(plan_.rows_of(m), cuda::kUnitRows));
    for (const MatrixProduct& p : m.product->group.products)
      deepest = std::max(deepest, loop::tiles_deep(p.k, m.form->in_word));
  }
  if (deepest == 0) return;
  const std::int64_t tile = row_tiles * loop::kLeftTileBytes;
  plan_.deep = std::clamp<std::int64_t>(room / tile, 1, deepest);
  plan_.piece_bytes = std::max(plan_.piece_bytes, static_cast<std::size_t>(plan_.deep * tile));
}

}  // namespace

std::size_t ProductPart::passed_bytes() const {
  if (dtype != DType::kFloat32) return 0;
  const UnitForm* const form = &unit_form(precision);
  std::int64_t most = 0;
  for (std::size_t t = 0; t < group.terms(); ++t) {
    const MatrixProduct& p = group.products[t];
    std::int64_t of_term = 0;
    for (std::int64_t parts = 1; parts <= kMostRowParts; ++parts) {
      of_term = std::max(of_term, parts * loop::rounded_left_bytes((p.m + parts - 1) / parts, p.k, form->in_word));
    }
    most += 2 * of_term;
  }
  return static_cast<std::size_t>(most);
}

// The number of a member's columns in the block that has the most.
std::int64_t LoopPlan::columns_of(const LoopMember& m) const {
  return (round_up(m.columns, together) / together + column_parts - 1) / column_parts * together;
}

std::size_t LoopPlan::address_bytes() const {
  return static_cast<std::size_t>(round_up(static_cast<std::int64_t>(places) * loop::Addresses::kBytesOfPlace, 16));
}

std::size_t LoopPlan::counter_bytes() const { return in_clusters ? passed.size() * loop::Arriving::kBytes : 0; }

int LoopPlan::width_of(const LoopMember& pointwise) const {
  if (!has_constant_sizes()) return kMostWidth;
  const std::int64_t elements = round_up(rows_of(pointwise), cuda::kUnitRows) * columns_of(pointwise);
  int width = kMostWidth;
  while (width > 1 && elements < width * threads) width /= 2;
  return width;
}

bool LoopPlan::has_constant_sizes() const {
  constexpr std::int64_t kLarge = 128 * 128;  // elements of weights
  return std::any_of(members.begin(), members.end(), [](const LoopMember& m) {
    return m.product != nullptr && std::any_of(m.product->group.products.begin(), m.product->group.products.end(),
                                               [](const MatrixProduct& p) { return p.k * p.n >= kLarge; });
  });
}

std::int64_t LoopPlan::row_tiles_of(const LoopMember& m) const { return loop::tiles_of(rows_of(m), cuda::kUnitRows); }
std::int64_t LoopPlan::column_tiles_of(const LoopMember& m) const {
  return loop::tiles_of(static_cast<std::int64_t>(m.product->group.groups()) * columns_of(m), cuda::kUnitColumns);
}

LoopPlan plan_loop(const BoundScan& scan, const ProgramLayout& layout, const DeviceLimits& limits) {
  return LoopPlanner(scan, layout, limits).take();
}

}  // namespace graphrun
