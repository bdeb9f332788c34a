// A group of products whose factors are both rounded to bfloat16 as it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/matmul/group.h"
#include "ops/matmul/rounded.h"
#include "runtime/kernel.h"

namespace graphrun {

// First all threads round the left factors, into the workspace; then each rounds the panels of right factors that its blocks of
// the results need.
class RoundedGroup {
 public:
  explicit RoundedGroup(const ProductGroup& group);
  bool available() const;
  std::size_t workspace() const { return left_at_.back(); }
  void run(const KernelContext& c) const;

 private:
  bool sums() const { return group_.kind == ProductGroup::Kind::kSum; }
  BFloat16Bits* left(const KernelContext& c, std::size_t i) const {
    return reinterpret_cast<BFloat16Bits*>(static_cast<char*>(c.workspace) + left_at_[sums() ? i : 0]);
  }
  void run_block(const KernelContext& c, std::int64_t block) const;

  ProductGroup group_;
  std::vector<RoundedProduct> products_;
  std::vector<std::size_t> left_at_;     // of each left factor, in bytes; then their end
  std::int64_t rows_ = 1, columns_ = 1;  // blocks of a result
};

}  // namespace graphrun
