#include "ops/matmul/rounded_group.h"

#include <algorithm>

#include "runtime/tensor/tensor.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

constexpr std::size_t kScratchBytes = static_cast<std::size_t>(RoundedProduct::scratch()) * sizeof(BFloat16Bits);

}  // namespace

RoundedGroup::RoundedGroup(const ProductGroup& group) : group_(group), left_at_{0} {
  for (const MatrixProduct& p : group.products) products_.emplace_back(p, p.n >= kMostPanel ? kMostPanel : kColumnStep);
  for (std::size_t i = 0; i < (sums() ? products_.size() : 1); ++i) {
    left_at_.push_back(left_at_.back() + (products_[i].left_bytes() + kAlignment - 1) / kAlignment * kAlignment);
  }
  // At least one block per thread; split columns before rows, since right factors are rounded again for each block of rows.
  const std::int64_t together = sums() ? 1 : static_cast<std::int64_t>(products_.size());
  const std::int64_t wanted = (threads() + together - 1) / together;
  const std::int64_t most = (products_[0].panels() + RoundedProduct::kPanelsAtOnce - 1) / RoundedProduct::kPanelsAtOnce;
  columns_ = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(most, 1));
  rows_ = std::clamp<std::int64_t>(wanted / columns_, 1, std::max<std::int64_t>(products_[0].row_runs(), 1));
  blocks_ = rows_ * columns_ * together;
  runner_ = BlockRunner(blocks_, kScratchBytes);
}

std::size_t RoundedGroup::workspace() const { return left_at_.back() + runner_.workspace(); }

bool RoundedGroup::available() const {
  return std::all_of(products_.begin(), products_.end(), [](const RoundedProduct& p) { return p.available(); });
}

void RoundedGroup::run(const KernelContext& c) const {
  constexpr double kOperationsPerNumber = 4;  // the cost of rounding a number, in operations of a product
  for (std::size_t i = 0; i + 1 < left_at_.size(); ++i) {
    const MatrixProduct& p = group_.products[i];
    const float* const a = c.inputs[group_.a(i)].as<const float>();
    const std::int64_t runs = products_[i].row_runs();
    run_blocks(runs, kOperationsPerNumber * static_cast<double>(p.m) * static_cast<double>(p.k) / static_cast<double>(runs),
               [&](std::int64_t run) { products_[i].round_left(a, left(c, i), run, run + 1); });
  }
  runner_.run(static_cast<char*>(c.workspace) + left_at_.back(), group_.operations() / static_cast<double>(blocks_),
              [&](std::int64_t i, void* scratch) { run_block(c, i, scratch); });
}

void RoundedGroup::run_block(const KernelContext& c, std::int64_t block, void* scratch) const {
  const std::int64_t row = block / columns_ % rows_, column = block % columns_;
  const auto product = static_cast<std::size_t>(block / (rows_ * columns_));  // 0 if they are summed
  const std::int64_t runs = products_[0].row_runs(), panels = products_[0].panels();
  const auto run = [&](std::size_t i) {
    products_[i].multiply_block(left(c, i), c.inputs[group_.b(i)].as<const float>(), c.outputs[group_.y(i)].as<float>(),
                                runs * row / rows_, runs * (row + 1) / rows_, panels * column / columns_,
                                panels * (column + 1) / columns_, static_cast<BFloat16Bits*>(scratch));
  };
  if (!sums()) return run(product);
  for (std::size_t i = 0; i < products_.size(); ++i) run(i);
}

}  // namespace graphrun
