#include "ops/matmul/rounded.h"

#include <vector>

#include "ops/matmul/instructions/pairs.h"
#include "ops/matmul/instructions/pairs_amx.h"
#include "ops/matmul/instructions/pairs_dot.h"
#include "runtime/base/processor.h"

namespace graphrun {

std::span<const PairSet> pair_sets() {
  static const std::vector<PairSet> sets = [] {
    std::vector<PairSet> all;
    if (multiplies_bfloat16()) all.push_back(PairSet::kDot);
    if (multiplies_bfloat16() && amx_multiplies_bfloat16()) all.push_back(PairSet::kAmx);
    return all;
  }();
  return sets;
}

RoundedProduct::RoundedProduct(const MatrixProduct& product, std::int64_t panel)
    : RoundedProduct(product, panel, pair_sets().empty() ? PairSet::kDot : pair_sets().back()) {}

RoundedProduct::RoundedProduct(const MatrixProduct& product, std::int64_t panel, PairSet set)
    : product_(product), panel_(panel), set_(set), step_(set == PairSet::kAmx ? kPairTileTerms : 2) {
  static_assert(kTerms % kPairTileTerms == 0 && kRows <= kMostOfPairBlock && kMostPanel <= kMostOfPairBlock);
  available_ = multiplies_bfloat16() && product.m > 0 && product.n > 0 && product.k > 0;
}

void RoundedProduct::round_rows(const float* a, IndexRun rows, IndexRun terms, BFloat16Bits* to) const {
  const Pairs from{a, product_.a_row(), product_.transpose_a, rows.begin, rows.size, terms.begin, terms.size, product_.k};
  pairs_by_line(from, to);
}

void RoundedProduct::round_panel(const float* b, IndexRun columns, IndexRun terms, BFloat16Bits* to) const {
  const Pairs from{b,          product_.b_row(), !product_.transpose_b, columns.begin, columns.size, terms.begin,
                   terms.size, product_.k};
  pairs_by_term(from, to);
}

void RoundedProduct::round_left(const float* a, BFloat16Bits* left, std::int64_t begin, std::int64_t end) const {
  for (std::int64_t r = begin; r < end; ++r) {
    const IndexRun rows = rows_of(r);
    for (std::int64_t t = 0; t < term_runs(); ++t) {
      const IndexRun terms = terms_of(t);
      round_rows(a, rows, terms, left + rows.begin * this->terms() + rows.size * terms.begin);
    }
  }
}

void RoundedProduct::round_right(const float* b, BFloat16Bits* right, std::int64_t begin, std::int64_t end) const {
  for (std::int64_t column = begin; column < end; column += panel_) {
    const IndexRun columns{column, std::min(panel_, end - column)};
    round_panel(b, columns, {0, terms()}, right + column * terms());
  }
}

void RoundedProduct::multiply(IndexRun columns, IndexRun rows, IndexRun terms, const BFloat16Bits* panel,
                              const BFloat16Bits* left, float* c) const {
  const PairBlock block{panel,        left,       c + rows.begin * product_.n + columns.begin, product_.n, rows.size,
                        columns.size, terms.size, product_.accumulate || terms.begin > 0};
  set_ == PairSet::kAmx ? multiply_pairs_in_tiles(block) : multiply_pairs_by_dots(block);
}

void RoundedProduct::multiply_rows(const float* a, const BFloat16Bits* right, float* c, std::int64_t begin, std::int64_t end,
                                   bool back) const {
  alignas(64) BFloat16Bits left[kRows * kTerms];
  const std::int64_t first = begin / panel_, last = (end + panel_ - 1) / panel_;
  for (std::int64_t r = 0; r < row_runs(); ++r) {
    const IndexRun rows = rows_of(r);
    for (std::int64_t t = 0; t < term_runs(); ++t) {
      const IndexRun terms = terms_of(t);
      round_rows(a, rows, terms, left);
      for (std::int64_t i = first; i < last; ++i) {
        const IndexRun columns = columns_of(back ? first + last - 1 - i : i);
        multiply(columns, rows, terms, right + columns.begin * this->terms() + columns.size * terms.begin, left, c);
      }
    }
  }
}

void RoundedProduct::multiply_block(const BFloat16Bits* left, const float* b, float* c, std::int64_t run, std::int64_t run_end,
                                    std::int64_t panel, std::int64_t panel_end, BFloat16Bits* scratch) const {
  const auto right = [&](std::int64_t p) { return scratch + p * kMostPanel * kTerms; };
  for (; panel < panel_end; panel += kPanelsAtOnce) {
    const std::int64_t panels = std::min(kPanelsAtOnce, panel_end - panel);
    for (std::int64_t t = 0; t < term_runs(); ++t) {
      const IndexRun terms = terms_of(t);
      for (std::int64_t p = 0; p < panels; ++p) round_panel(b, columns_of(panel + p), terms, right(p));
      for (std::int64_t r = run; r < run_end; ++r) {
        const IndexRun rows = rows_of(r);
        const BFloat16Bits* const run_of_rows = left + rows.begin * this->terms() + rows.size * terms.begin;
        for (std::int64_t p = 0; p < panels; ++p) multiply(columns_of(panel + p), rows, terms, right(p), run_of_rows, c);
      }
    }
  }
}

}  // namespace graphrun
