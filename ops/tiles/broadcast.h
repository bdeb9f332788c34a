// How a pointwise op iterates over its operands: NumPy's broadcasting as strides over as few axes as possible.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/tiles/tiles.h"
#include "runtime/base/shape.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

class BroadcastPlan {
 public:
  static constexpr int kMostOperands = 3;

  // For operands whose sizes broadcast to `result`. Made when a kernel is bound; element_bytes are the operands'.
  BroadcastPlan(const Sizes& result, std::span<const TensorView> operands);

  std::int64_t count() const { return count_; }
  // The fewest elements that a thread should get: all of them if waking other threads costs more than it gains.
  std::int64_t grain() const { return count_ < 16384 ? count_ : 4096; }

  // Runs the tile over elements [begin, end) of the result; `in` and `out` point to the first elements of operands and result.
  void run(PointwiseTile tile, const void* const* in, char* out, std::size_t out_bytes, std::int64_t begin,
           std::int64_t end) const;

  // Lays out contiguously what operand k broadcasts to at positions [begin, begin + n) of the result. May write up to kRunSlack
  // bytes beyond the end.
  void gather(int k, const void* in, void* to, std::int64_t begin, std::int64_t n) const;

  // The address of those elements if they are contiguous in the operand's own memory; else null. For a plan with this operand
  // only.
  const void* in_place(const void* in, std::int64_t begin, std::int64_t n) const;
  // The period, in positions, of what gather lays out. For a plan with one operand only.
  std::int64_t period() const { return strides_.front()[0] == 0 ? count_ / sizes_.front() : count_; }

 private:
  using Strides = std::array<std::int64_t, kMostOperands>;

  template <class T>
  void gather_elements(int k, const T* in, T* out, std::int64_t begin, std::int64_t n) const;
  void run_rows(PointwiseTile tile, const void* const* in, char* out, std::size_t out_bytes, std::int64_t begin,
                std::int64_t end) const;
  void run_gathered(PointwiseTile tile, const void* const* in, char* out, std::size_t out_bytes, std::int64_t begin,
                    std::int64_t end) const;

  int operands_;
  std::int64_t count_;
  Sizes sizes_;                   // of the result with adjacent axes merged; no axis of size 1 unless it is the only one
  std::vector<Strides> strides_;  // by axis, then operand; in elements; 0: repeated
  std::array<std::size_t, kMostOperands> bytes_{};
  std::array<bool, kMostOperands> whole_{};   // the operand has the result's layout
  std::array<bool, kMostOperands> scalar_{};  // the operand is one element
};

}  // namespace graphrun
