// A group of products whose factors are both rounded to bfloat16 at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/matmul/group.h"
#include "ops/matmul/rounded.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// First, all threads round the left factors into the workspace; then each thread computes blocks of the results, rounding the
// panels of right factors that the blocks need.
class RoundedGroup {
 public:
  explicit RoundedGroup(const ProductGroup& group);
  bool available() const;
  std::size_t workspace() const;
  void run(const KernelContext& c) const;

 private:
  bool sums() const { return group_.kind == ProductGroup::Kind::kSum; }
  BFloat16Bits* left(const KernelContext& c, std::size_t i) const {
    return reinterpret_cast<BFloat16Bits*>(static_cast<char*>(c.workspace) + left_at_[sums() ? i : 0]);
  }
  void run_block(const KernelContext& c, std::int64_t block, void* scratch) const;

  ProductGroup group_;
  std::vector<RoundedProduct> products_;
  std::vector<std::size_t> left_at_;     // of each left factor, in bytes; then their total
  std::int64_t rows_ = 1, columns_ = 1;  // blocks of a result
  std::int64_t blocks_ = 1;              // in all results
  BlockRunner runner_{0, 0};
};

}  // namespace graphrun
