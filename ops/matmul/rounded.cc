#include "ops/matmul/rounded.h"

#include <vector>

#include "ops/matmul/instructions/pairs.h"
#include "ops/matmul/instructions/pairs_amx.h"
#include "runtime/base/processor.h"

#if defined(__x86_64__)
#include <libxsmm.h>
#endif

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

RoundedProduct::Code RoundedProduct::write_code(std::int64_t width, std::int64_t rows, std::int64_t terms, bool adds) const {
#if defined(__x86_64__)
  static_assert(sizeof(libxsmm_bfloat16) == sizeof(BFloat16Bits));
  const auto as_int = [](std::int64_t x) { return static_cast<int>(x); };
  const int lda = as_int(width), ldb = as_int(terms), ldc = as_int(product_.n), flags = LIBXSMM_GEMM_FLAG_VNNI_A,
            prefetch = LIBXSMM_PREFETCH_NONE;
  const float alpha = 1, beta = adds ? 1 : 0;
  return libxsmm_bsmmdispatch(as_int(width), as_int(rows), as_int(terms), &lda, &ldb, &ldc, &alpha, &beta, &flags, &prefetch);
#else
  (void)width, (void)rows, (void)terms, (void)adds;
  return nullptr;
#endif
}

std::size_t RoundedProduct::code_for(IndexRun columns, IndexRun rows, IndexRun terms) const {
  const bool adds = product_.accumulate || terms.begin > 0;
  return static_cast<std::size_t>((columns.size < panel_) * 8 + (rows.size < kRows) * 4 + (terms.size < kTerms) * 2 + adds);
}

RoundedProduct::RoundedProduct(const MatrixProduct& product, std::int64_t panel)
    : RoundedProduct(product, panel, pair_sets().empty() ? PairSet::kDot : pair_sets().back()) {}

RoundedProduct::RoundedProduct(const MatrixProduct& product, std::int64_t panel, PairSet set)
    : product_(product), panel_(panel), set_(set), step_(set == PairSet::kAmx ? kPairTileTerms : 2) {
  static_assert(kTerms % kPairTileTerms == 0 && kRows <= kMostOfPairBlock && kMostPanel <= kMostOfPairBlock);
  if (!multiplies_bfloat16() || product.m <= 0 || product.n <= 0 || product.k <= 0) return;
  if (set_ == PairSet::kAmx) {
    available_ = true;
    return;
  }
  // All combinations of whole and partial runs, each as the first of its sum or not.
  for (const std::int64_t p : {std::int64_t{0}, panels() - 1}) {
    for (const std::int64_t r : {std::int64_t{0}, row_runs() - 1}) {
      for (std::int64_t t = 0; t < term_runs(); ++t) {
        const IndexRun columns = columns_of(p), rows = rows_of(r), terms = terms_of(t);
        Code& place = code_[code_for(columns, rows, terms)];
        if (place == nullptr) place = write_code(columns.size, rows.size, terms.size, product.accumulate || t > 0);
        if (place == nullptr) return;
      }
    }
  }
  available_ = true;
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
  float* const sums = c + rows.begin * product_.n + columns.begin;
  if (set_ == PairSet::kAmx) {
    const bool adds = product_.accumulate || terms.begin > 0;
    return multiply_pairs({panel, left, sums, product_.n, rows.size, columns.size, terms.size, adds});
  }
  code_[code_for(columns, rows, terms)](panel, left, sums);
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
