#include "ops/reduce/slab_folds.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/dtype.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostOperands = 24, kMostSlabFolds = 32;
// With fewer columns, most of a register would be empty; pieces of pointwise work fill registers.
constexpr std::int64_t kFewestColumns = 8;

}  // namespace

std::unique_ptr<const SlabFolds> SlabFolds::of(const TileProgram& program, const AxisView& view,
                                               const std::vector<ir::Fold>& folds) {
  const std::vector<TensorView>& operands = program.inputs();
  if (view.n < 2 || operands.size() > kMostOperands || folds.size() > kMostSlabFolds || program.draws()) return nullptr;
  TileAxes axes = program.axes_of(view);
  const std::size_t last = axes.sizes.size() - 1;
  std::size_t along = last;  // the first axis of `inner`, then the one before it
  std::int64_t inner = axes.inner();
  while (along > 0 && (inner < view.inner || axes.sizes[along - 1] == 1)) inner *= axes.sizes[--along];
  if (along-- == 0 || inner != view.inner || axes.sizes[along] != view.n || axes.inner() < kFewestColumns) return nullptr;
  std::vector<MachineCode::Input> inputs;
  std::vector<std::size_t> elements;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (axes.strides[last][k] > 1) return nullptr;
    inputs.push_back({operands[k].dtype, axes.strides[last][k] == 0});
    elements.push_back(size_of(operands[k].dtype));
  }
  auto code = FoldCode::of(program.steps(), inputs, folds);
  if (!code) return nullptr;
  return std::unique_ptr<const SlabFolds>(
      new SlabFolds(std::move(code), std::move(axes), along, std::move(elements), program.row_reads()));
}

SlabFolds::SlabFolds(std::shared_ptr<const FoldCode> code, TileAxes axes, std::size_t along, std::vector<std::size_t> elements,
                     RowReads row_reads)
    : code_(std::move(code)),
      axes_(std::move(axes)),
      along_(along),
      elements_(std::move(elements)),
      row_reads_(std::move(row_reads)) {
  const std::vector<std::int64_t>& rows = axes_.strides[along_];
  for (std::size_t k = 0; k < elements_.size(); ++k) strides_.push_back(rows[k] * static_cast<std::int64_t>(elements_[k]));
  for (std::size_t axis = along_ + 1; axis < axes_.sizes.size(); ++axis) inner_ *= axes_.sizes[axis];
}

bool SlabFolds::run(const KernelContext& c, std::int64_t outer, std::int64_t begin, std::int64_t width,
                    std::int64_t rows) const {
  for (const std::int64_t end = begin + width; begin < end;) {
    const std::int64_t segment = begin / axes_.inner(), column = begin % axes_.inner();
    const std::int64_t n = std::min(axes_.inner() - column, end - begin);
    if (!run_columns(c, {outer, segment, column, n, rows})) return false;
    begin += n;
  }
  return true;
}

bool SlabFolds::run_columns(const KernelContext& c, const SegmentColumns& part) const {
  const std::size_t last = axes_.sizes.size() - 1;
  std::array<const void*, kMostOperands> from;
  std::array<void*, kMostSlabFolds> to;
  const std::int32_t* const numbers = row_reads_.numbers(c);
  for (std::size_t k = 0; k < elements_.size(); ++k) {
    std::int64_t offset = part.column * axes_.strides[last][k];
    const auto add = [&](std::size_t end, std::size_t first, std::int64_t index) {
      for (std::size_t axis = end; axis-- > first;) {
        offset += axes_.step(axis, k, index % axes_.sizes[axis], numbers);
        index /= axes_.sizes[axis];
      }
    };
    add(last, along_ + 1, part.segment);
    add(along_, 0, part.outer);
    from[k] = static_cast<const char*>(c.inputs[k].data) + offset * static_cast<std::int64_t>(elements_[k]);
  }
  constexpr std::int64_t kElement = 4;  // float32, or INT32 of a position
  for (std::size_t f = 0; f < c.outputs.size(); ++f) {
    to[f] =
        static_cast<char*>(c.outputs[f].data) + (part.outer * inner_ + part.segment * axes_.inner() + part.column) * kElement;
  }
  return code_->run(from.data(), to.data(), static_cast<std::size_t>(part.width), static_cast<std::size_t>(part.rows),
                    strides_.data());
}

}  // namespace graphrun
