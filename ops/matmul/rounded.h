// Products with both factors rounded to bfloat16, for processors that multiply pairs of them (multiplies_bfloat16). Sums are
// float32, each in an order that depends on the number of terms alone. Subnormal float32 numbers, in a factor or a sum, count
// as 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/matmul/product.h"
#include "runtime/program/kernel.h"

namespace graphrun {

using BFloat16Bits = std::uint16_t;

// The instructions that multiply pairs: those of AVX512_BF16 (pairs_dot.h) or of AMX (pairs_amx.h).
enum class PairSet : std::uint8_t { kDot, kAmx };
// The sets that this processor supports, the fastest last.
std::span<const PairSet> pair_sets();

// C [m, n] = op(A) [m, k] · op(B) [k, n] by panels of columns, runs of rows and runs of terms. Requires
// multiplies_bfloat16().
//
// A factor is rounded into pairs: terms 2i and 2i + 1 of a row or column are adjacent. Zeros follow the last term, up to an
// even number of terms or, for AMX, a whole tile.
//   left:  by run of rows, within it by run of terms: [rows, terms] each
//   right: by panel: [terms / 2, width] pairs each
class RoundedProduct {
 public:
  // Whether rounding pays for a matrix with this many columns: not if a panel would be mostly empty.
  static bool serves(std::int64_t columns) { return columns >= kColumnStep; }

  // With panels of `panel` columns. It is unavailable if the processor has no instructions for it or if a size is 0.
  RoundedProduct(const MatrixProduct& product, std::int64_t panel);
  RoundedProduct(const MatrixProduct& product, std::int64_t panel, PairSet set);
  bool available() const { return available_; }

  std::int64_t panels() const { return (product_.n + panel_ - 1) / panel_; }
  static constexpr std::int64_t kPanelsAtOnce = 6;  // panels for which multiply_block reads rows at once
  std::int64_t row_runs() const { return (product_.m + kRows - 1) / kRows; }
  std::size_t left_bytes() const { return static_cast<std::size_t>(product_.m * terms()) * sizeof(BFloat16Bits); }
  std::size_t right_bytes() const { return static_cast<std::size_t>(product_.n * terms()) * sizeof(BFloat16Bits); }

  // Rounds runs of rows [begin, end) into their place in `left`.
  void round_left(const float* a, BFloat16Bits* left, std::int64_t begin, std::int64_t end) const;
  // Rounds columns [begin, end) into their place in `right`; `begin` is the start of a panel, and `end` is the end of a panel
  // or n.
  void round_right(const float* b, BFloat16Bits* right, std::int64_t begin, std::int64_t end) const;

  // Computes columns [begin, end) of C from a rounded right factor, rounding the rows each time: for few rows. `back`:
  // traverse the panels from last to first.
  void multiply_rows(const float* a, const BFloat16Bits* right, float* c, std::int64_t begin, std::int64_t end,
                     bool back) const;
  // Computes panels [panel, panel_end) of C, in runs of rows [run, run_end), from rounded rows. The right factor is rounded on
  // the fly into a buffer of scratch() numbers, never more of it than a core's cache holds.
  static constexpr std::int64_t scratch() { return kPanelsAtOnce * kMostPanel * kTerms; }
  void multiply_block(const BFloat16Bits* left, const float* b, float* c, std::int64_t run, std::int64_t run_end,
                      std::int64_t panel, std::int64_t panel_end, BFloat16Bits* scratch) const;

 private:
  // The rows and terms of a run: kRows rows and some panels, of kTerms terms each, fit a core's cache. Multiples of a tile's.
  static constexpr std::int64_t kRows = 32, kTerms = 1024;

  struct IndexRun {
    std::int64_t begin = 0, size = 0;
  };

  std::int64_t terms() const { return (product_.k + step_ - 1) / step_ * step_; }
  std::int64_t term_runs() const { return (terms() + kTerms - 1) / kTerms; }
  IndexRun rows_of(std::int64_t run) const { return {run * kRows, std::min(kRows, product_.m - run * kRows)}; }
  IndexRun terms_of(std::int64_t run) const { return {run * kTerms, std::min(kTerms, terms() - run * kTerms)}; }
  IndexRun columns_of(std::int64_t panel) const { return {panel * panel_, std::min(panel_, product_.n - panel * panel_)}; }
  void round_rows(const float* a, IndexRun rows, IndexRun terms, BFloat16Bits* to) const;
  void round_panel(const float* b, IndexRun columns, IndexRun terms, BFloat16Bits* to) const;
  void multiply(IndexRun columns, IndexRun rows, IndexRun terms, const BFloat16Bits* panel, const BFloat16Bits* left,
                float* c) const;

  MatrixProduct product_;
  std::int64_t panel_;
  PairSet set_;
  std::int64_t step_;  // the number of terms is padded to a multiple
  bool available_ = false;
};

}  // namespace graphrun
