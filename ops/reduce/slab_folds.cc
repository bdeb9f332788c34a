#include "ops/reduce/slab_folds.h"

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
  if (view.n < 2 || view.inner < kFewestColumns || operands.size() > kMostOperands || folds.size() > kMostSlabFolds)
    return nullptr;
  if (program.draws()) return nullptr;
  TileAxes axes = program.axes_of(view);
  const std::size_t last = axes.sizes.size() - 1;
  if (last < 1 || axes.sizes[last] != view.inner || axes.sizes[last - 1] != view.n) return nullptr;
  std::vector<MachineCode::Input> inputs;
  std::vector<std::size_t> elements;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (axes.strides[last][k] > 1) return nullptr;
    inputs.push_back({operands[k].dtype, axes.strides[last][k] == 0});
    elements.push_back(size_of(operands[k].dtype));
  }
  auto code = FoldCode::of(program.steps(), inputs, folds);
  if (!code) return nullptr;
  return std::unique_ptr<const SlabFolds>(new SlabFolds(std::move(code), std::move(axes), std::move(elements)));
}

SlabFolds::SlabFolds(std::shared_ptr<const FoldCode> code, TileAxes axes, std::vector<std::size_t> elements)
    : code_(std::move(code)), axes_(std::move(axes)), elements_(std::move(elements)) {
  const std::vector<std::int64_t>& rows = axes_.strides[axes_.sizes.size() - 2];
  for (std::size_t k = 0; k < elements_.size(); ++k) strides_.push_back(rows[k] * static_cast<std::int64_t>(elements_[k]));
}

bool SlabFolds::run(const KernelContext& c, std::int64_t outer, std::int64_t begin, std::int64_t width) const {
  const std::size_t last = axes_.sizes.size() - 1;
  std::array<const void*, kMostOperands> from;
  std::array<void*, kMostSlabFolds> to;
  for (std::size_t k = 0; k < elements_.size(); ++k) {
    std::int64_t offset = begin * axes_.strides[last][k];
    std::int64_t rest = outer;
    for (std::size_t axis = last - 1; axis-- > 0 && rest > 0;) {
      offset += rest % axes_.sizes[axis] * axes_.strides[axis][k];
      rest /= axes_.sizes[axis];
    }
    from[k] = static_cast<const char*>(c.inputs[k].data) + offset * static_cast<std::int64_t>(elements_[k]);
  }
  constexpr std::int64_t kElement = 4;  // float32, or INT32 of a position
  for (std::size_t f = 0; f < c.outputs.size(); ++f) {
    to[f] = static_cast<char*>(c.outputs[f].data) + (outer * axes_.inner() + begin) * kElement;
  }
  return code_->run(from.data(), to.data(), static_cast<std::size_t>(width), static_cast<std::size_t>(axes_.sizes[last - 1]),
                    strides_.data());
}

}  // namespace graphrun
