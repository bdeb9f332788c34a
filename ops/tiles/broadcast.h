// How a pointwise op walks its operands: NumPy's broadcasting as strides over the fewest axes that do.
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

  // Operands whose sizes broadcast to `result`. Made when a kernel is bound; element_bytes are the operands'.
  BroadcastPlan(const Sizes& result, std::span<const TensorView> operands);

  std::int64_t count() const { return count_; }
  // Elements that a thread should have at least: all of them where waking others costs more than they bring.
  std::int64_t grain() const { return count_ < 16384 ? count_ : 4096; }

  // Runs the tile over elements [begin, end) of the result; `in` and `out` are the operands' and the result's beginnings.
  void run(PointwiseTile tile, const void* const* in, char* out, std::size_t out_bytes, std::int64_t begin,
           std::int64_t end) const;

  // What operand k broadcasts to at positions [begin, begin + n) of the result, laid out side by side. May write up to
  // kRunSlack bytes beyond.
  void gather(int k, const void* in, void* to, std::int64_t begin, std::int64_t n) const;

  // The same where it lies side by side in the operand's own memory; else null. Of a plan for this operand alone.
  const void* in_place(const void* in, std::int64_t begin, std::int64_t n) const;
  // Positions after which what gather lays out repeats itself. Of a plan for one operand alone.
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
  Sizes sizes_;                   // of the result with neighbouring axes merged, none of size 1 unless it is the only one
  std::vector<Strides> strides_;  // by axis, then operand; in elements; 0: repeated
  std::array<std::size_t, kMostOperands> bytes_{};
  std::array<bool, kMostOperands> whole_{};   // the operand has the result's layout
  std::array<bool, kMostOperands> scalar_{};  // the operand is one element
};

}  // namespace graphrun
