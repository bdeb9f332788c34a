#include "runtime/scan/columns.h"

#include <algorithm>
#include <numeric>

namespace graphrun {
namespace {

constexpr std::int64_t kFewestSteps = 3;        // with fewer, packing weights costs more than it saves
constexpr std::size_t kMostInstructions = 256;  // each is compared with every other
constexpr double kWorkOfColumns = 150e3;        // operations per step that justify another thread

double operations_by_columns(const BoundInstruction& bound) {
  const double given = bound.kernel.by_columns ? bound.kernel.by_columns->operations : 0;
  if (given > 0) return given;
  double elements = 0;
  for (const TensorView& result : bound.outputs()) elements += static_cast<double>(result.count());
  return elements;
}

}  // namespace

std::int64_t shared_columns(const BoundInstruction& bound) {
  if (bound.source->kind == Instruction::Kind::kCopy) {
    const Sizes& sizes = bound.outputs()[0].sizes;
    return sizes.empty() || !bound.copies_columns() ? 0 : sizes.back();
  }
  return bound.kernel.by_columns ? bound.kernel.by_columns->columns : 0;
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

ScanPlan::ByColumns column_threads(const BoundScan& scan, int threads) {
  using Kind = Obstacle::Kind;
  ScanPlan::ByColumns found;
  found.step = kColumnStep;
  double work = 0, most_work = 0;
  const Instruction* costliest = nullptr;
  std::int64_t widest = 1;
  for (const BoundInstruction& bound : scan.body.instructions) {
    const double operations = operations_by_columns(bound);
    work += operations;
    if (operations > most_work) most_work = operations, costliest = bound.source;
    widest = std::max(widest, shared_columns(bound));
    if (bound.kernel.by_columns) found.step = std::lcm(found.step, bound.kernel.by_columns->step);
  }
  const std::int64_t most = (widest + found.step - 1) / found.step;
  const auto worth = static_cast<std::int64_t>(work / kWorkOfColumns);
  found.count = static_cast<int>(std::clamp<std::int64_t>(std::min(worth, most), 1, threads));
  if (threads == 1) {
    found.not_more = {Kind::kOneThread};
  } else if (worth < 2) {
    found.not_more = {Kind::kLittleWork, costliest, -1, work, 2 * kWorkOfColumns};
  } else if (most < 2) {
    found.not_more = {Kind::kNarrow, costliest, -1, static_cast<double>(widest), static_cast<double>(found.step)};
  }
  return found;
}

double operations_of(const BoundScan& scan) {
  double work = 0;
  for (const BoundInstruction& bound : scan.body.instructions) work += operations_by_columns(bound);
  return work * static_cast<double>(scan.steps);
}

}  // namespace graphrun
