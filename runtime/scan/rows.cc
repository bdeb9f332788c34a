#include "runtime/scan/rows.h"

#include <algorithm>

namespace graphrun {
namespace {

constexpr std::size_t kSmall = 256;  // bytes of a result that is cheap enough for every thread to compute for itself
// Additions in all steps that justify waking a thread: a tenth of a millisecond, the time it takes to wake a sleeping one.
constexpr double kWorkOfRows = 2 * 1024 * 1024;

std::int64_t rows_of(const TensorView& view) { return view.sizes.empty() ? 0 : view.sizes[0]; }

class RowSharingFinder {
  using Kind = Obstacle::Kind;

 public:
  explicit RowSharingFinder(const BoundScan& scan) : scan_(scan), body_(scan.body), of_all_(body_.source->blocks.size(), 1) {}

  RowSharing find() && {
    for (const BoundInstruction& bound : body_.instructions) {
      if (const Obstacle obstacle = look_at(bound)) return {.obstacle = obstacle};
    }
    if (rows_ <= 0) return {.obstacle = {Kind::kNothingInRows}};
    RowSharing sharing{{}, rows_, operations_, costliest_, {}, std::move(of_all_)};
    for (const BoundInstruction& bound : body_.instructions) sharing.shared.push_back(shared_rows(bound));
    return sharing;
  }

 private:
  // The reason that this instruction cannot be shared by rows, apart from the instructions before it.
  Obstacle look_at(const BoundInstruction& bound) {
    const Instruction& source = *bound.source;
    if (bound.scan) return {Kind::kLoopInside, &source};
    const std::int64_t rows = shared_rows(bound);
    if (rows < 0) return {Kind::kNoRows, &source};
    for (std::size_t i = 0; i < source.inputs.size(); ++i) {
      const std::int32_t v = source.inputs[i];
      if (v < 0 || is_of_all(v)) continue;
      if (rows == 0 || reads_other_rows(bound, i)) return {Kind::kReadsOtherRows, &source, v};
      const std::int64_t read = rows_of(bound.operands[i]);
      if (read != rows) return other_rows(source, v, rows, read);
    }
    for (std::int32_t v : source.outputs) {
      if (v < 0) continue;
      const Storage& at = body_.source->values[static_cast<std::size_t>(v)].storage;
      if (rows == 0 && at.kind == Storage::Kind::kSlot) return {Kind::kOneForAllRows, &source, v};
      if (at.kind == Storage::Kind::kBlock) of_all_[static_cast<std::size_t>(at.index)] = rows == 0;
    }
    if (rows == 0) return {};
    const double operations = operations_of(bound);
    operations_ += operations;
    if (operations > most_) most_ = operations, costliest_ = &source;
    if (rows_ == 0) rows_ = rows;
    return rows_ == rows ? Obstacle{} : other_rows(source, -1, rows, rows_);
  }

  static Obstacle other_rows(const Instruction& at, std::int32_t value, std::int64_t found, std::int64_t bound) {
    return {Kind::kOtherRowCount, &at, value, static_cast<double>(found), static_cast<double>(bound)};
  }

  // Whether a value is not divided by rows: the scan's invariants, and what each thread computes for itself.
  bool is_of_all(std::int32_t v) const {
    const Storage& at = body_.source->values[static_cast<std::size_t>(v)].storage;
    const auto index = static_cast<std::size_t>(at.index);
    return at.kind == Storage::Kind::kBlock ? of_all_[index] != 0 : scan_.slots.is_given(index);
  }

  static bool reads_other_rows(const BoundInstruction& bound, std::size_t input) {
    const auto& kernel = bound.kernel.by_rows;
    return kernel && input < kernel->reads_other_rows.size() && kernel->reads_other_rows[input];
  }

  static double operations_of(const BoundInstruction& bound) {
    if (bound.kernel.by_rows && bound.kernel.by_rows->operations > 0) return bound.kernel.by_rows->operations;
    double elements = 0;
    for (const TensorView& result : bound.outputs()) elements += static_cast<double>(result.count());
    return elements;
  }

  const BoundScan& scan_;
  const BoundRegion& body_;
  std::vector<char> of_all_;  // by block: its contents are not divided by rows
  std::int64_t rows_ = 0;
  double operations_ = 0, most_ = 0;
  const Instruction* costliest_ = nullptr;
};

}  // namespace

std::int64_t shared_rows(const BoundInstruction& bound) {
  std::size_t bytes = 0;
  bool any = false;
  for (const TensorView& result : bound.outputs()) {
    bytes += result.bytes();
    any |= !result.sizes.empty();
  }
  if (!any && bytes <= kSmall) return 0;
  if (bound.source->kind == Instruction::Kind::kCopy) return rows_of(bound.outputs()[0]);
  return bound.kernel.by_rows ? bound.kernel.by_rows->rows : -1;
}

RowSharing row_sharing(const BoundScan& scan) { return RowSharingFinder(scan).find(); }

RowThreads row_threads(const BoundScan& scan, int threads) {
  using Kind = Obstacle::Kind;
  const RowSharing sharing = row_sharing(scan);
  if (sharing.obstacle) return {0, sharing.obstacle};
  if (scan.steps == 0) return {0, {Kind::kFewSteps, nullptr, -1, 0, 1}};
  const double all = sharing.operations * static_cast<double>(scan.steps);
  const auto worth = static_cast<std::int64_t>(std::min(all / kWorkOfRows, 1e6));
  const std::int64_t wanted = std::clamp<std::int64_t>(worth, 1, threads);
  if (wanted > sharing.rows) {
    return {0, {Kind::kFewRows, nullptr, -1, static_cast<double>(sharing.rows), static_cast<double>(wanted)}};
  }
  if (threads == 1) return {1, {Kind::kOneThread}};
  if (wanted == 1) return {1, {Kind::kLittleWork, sharing.costliest, -1, all, 2 * kWorkOfRows}};
  return {static_cast<int>(wanted), {}};
}

}  // namespace graphrun
