// A group of products whose factors are both rounded to bfloat16 as it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/matmul/group.h"
#include "ops/matmul/rounded.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// First all threads round the left factors, into the workspace; then each goes through blocks of the results, and rounds there
// the panels of right factors that they need.
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
  void run_block(const KernelContext& c, std::int64_t block, std::int64_t lane) const;

  ProductGroup group_;
  std::vector<RoundedProduct> products_;
  std::vector<std::size_t> left_at_;     // of each left factor, in bytes; then their end
  std::int64_t rows_ = 1, columns_ = 1;  // blocks of a result
  std::int64_t blocks_ = 1, lanes_ = 1;  // of all results; runs of them, each by one thread with panels of its own
};

}  // namespace graphrun
