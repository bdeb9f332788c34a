#include "ops/matmul/blocked.h"

#include <algorithm>

#include "ops/matmul/panels.h"
#include "ops/matmul/panels_simd.h"
#include "ops/round_up.h"
#include "runtime/tensor/tensor.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

// A run of terms of some rows and two panels fit a core's cache. The panels of a group are read from memory once for each run
// of rows, and prefetched meanwhile; a transposed left factor is copied once for each group.
constexpr std::int64_t kTerms = 1024, kRows = 192, kGroup = 14 * kMostPanel;
constexpr std::int64_t kTermStep = 8, kRowStep = 8;  // runs begin at multiples of these, groups at panels
static_assert(kMostPanel * kTermStep * sizeof(float) % kAlignment == 0 &&
              kRowStep * kTermStep * sizeof(float) % kAlignment == 0);

// The elements of the scratch space: the panels of a group for a run of terms, then copied rows.
struct BlockCopies {
  explicit BlockCopies(const MatrixProduct& p) {
    const std::int64_t terms = std::min(kTerms, round_up(p.k, kTermStep));
    panels = std::min(kGroup, round_up(p.n, kMostPanel)) * terms;
    rows = p.transpose_a ? std::min(kRows, round_up(p.m, kRowStep)) * terms : 0;
  }
  std::int64_t panels, rows;
};

}  // namespace

bool blocks_pay(const MatrixProduct& p) {
  if (p.k <= 32 || p.m < kFewestOfBlock || p.n < kMostPanel) return false;
  // A transposed left factor is copied too. That pays if each copied element meets many columns or rows.
  return !p.transpose_a || std::min(p.m, p.n) >= (has_many_registers() ? 4 : 2) * kFewestOfBlock;
}

std::size_t block_scratch(const MatrixProduct& p) {
  const BlockCopies copies(p);
  return static_cast<std::size_t>(copies.panels + copies.rows) * sizeof(float);
}

void multiply_blocked(const MatrixProduct& p, const ProductBlock& at, const float* a, const float* b, float* c, void* scratch) {
  float *const panels = static_cast<float*>(scratch), *const copied_rows = panels + BlockCopies(p).panels;
  const std::int64_t groups = (at.columns + kGroup - 1) / kGroup, term_runs = (p.k + kTerms - 1) / kTerms;
  const std::int64_t row_runs = (at.rows + kRows - 1) / kRows;
  PanelRange<float> range;
  range.packed = panels, range.panel = kMostPanel, range.c_row = p.n;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t column = part_begin(at.columns, groups, kMostPanel, g);
    range.columns = part_begin(at.columns, groups, kMostPanel, g + 1) - column;
    for (std::int64_t t = 0; t < term_runs; ++t) {
      const std::int64_t term = part_begin(p.k, term_runs, kTermStep, t);
      range.terms = part_begin(p.k, term_runs, kTermStep, t + 1) - term;
      range.adds = p.accumulate || t > 0;
      pack_panels(p, b, at.column + column, range.columns, term, range.terms, kMostPanel, panels);
      for (std::int64_t r = 0; r < row_runs; ++r) {
        const std::int64_t row = at.row + part_begin(at.rows, row_runs, kRowStep, r);
        range.rows = at.row + part_begin(at.rows, row_runs, kRowStep, r + 1) - row;
        range.a = p.transpose_a ? copied_rows : a + row * p.k + term;
        range.a_row = p.transpose_a ? range.terms : p.k;
        if (p.transpose_a) {
          copy_transposed({a + term * p.m + row, copied_rows, p.m, range.terms, range.terms, range.rows});
        }
        range.c = c + row * p.n + at.column + column;
        multiply_panels(range);
        range.back = !range.back;
      }
    }
  }
}

}  // namespace graphrun
