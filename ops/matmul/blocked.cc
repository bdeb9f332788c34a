#include "ops/matmul/blocked.h"

#include <algorithm>
#include <memory>
#include <new>

#include "ops/matmul/panels.h"
#include "ops/matmul/panels_simd.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {
namespace {

// A run of terms of some rows and two panels fit a core's cache. The panels of a group are read from memory once for each run
// of rows, and prefetched meanwhile; a transposed left factor is copied once for each group.
constexpr std::int64_t kTerms = 1024, kRows = 192, kGroup = 14 * kMostPanel;

struct FreesAligned {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{kAlignment}); }
};
using Memory = std::unique_ptr<float[], FreesAligned>;

Memory memory_of(std::int64_t count) {
  return Memory(
      static_cast<float*>(::operator new[](static_cast<std::size_t>(count) * sizeof(float), std::align_val_t{kAlignment})));
}

// The copies of a thread.
struct Copies {
  Memory panels = memory_of(kGroup * kTerms);
  Memory rows;  // of a transposed left factor
};

}  // namespace

bool blocks_pay(const MatrixProduct& p) {
  if (!panels_beat_library() || p.m < kFewestOfBlock || p.n < kMostPanel) return false;
  // A transposed left factor is copied too. That pays if each copied element meets many columns or rows.
  return !p.transpose_a || std::min(p.m, p.n) >= 4 * kFewestOfBlock;
}

void multiply_blocked(const MatrixProduct& p, const ProductBlock& at, const float* a, const float* b, float* c) {
  thread_local Copies copies;
  if (p.transpose_a && copies.rows == nullptr) copies.rows = memory_of(kRows * kTerms);
  const std::int64_t groups = (at.columns + kGroup - 1) / kGroup, term_runs = (p.k + kTerms - 1) / kTerms;
  const std::int64_t row_runs = (at.rows + kRows - 1) / kRows;
  // Groups begin at panels, runs of terms at multiples of 8.
  const auto first = [](std::int64_t i, std::int64_t parts, std::int64_t all, std::int64_t step) {
    return std::min(all, (all + step - 1) / step * i / parts * step);
  };
  PanelRange<float> range;
  range.packed = copies.panels.get(), range.panel = kMostPanel, range.c_row = p.n;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t column = first(g, groups, at.columns, kMostPanel);
    range.columns = first(g + 1, groups, at.columns, kMostPanel) - column;
    for (std::int64_t t = 0; t < term_runs; ++t) {
      const std::int64_t term = first(t, term_runs, p.k, 8);
      range.terms = first(t + 1, term_runs, p.k, 8) - term;
      range.adds = p.accumulate || t > 0;
      pack_panels(p, b, at.column + column, range.columns, term, range.terms, kMostPanel, copies.panels.get());
      for (std::int64_t r = 0; r < row_runs; ++r) {
        const std::int64_t row = at.row + first(r, row_runs, at.rows, 8);
        range.rows = at.row + first(r + 1, row_runs, at.rows, 8) - row;
        range.a = p.transpose_a ? copies.rows.get() : a + row * p.k + term;
        range.a_row = p.transpose_a ? range.terms : p.k;
        if (p.transpose_a) {
          copy_transposed({a + term * p.m + row, copies.rows.get(), p.m, range.terms, range.terms, range.rows});
        }
        range.c = c + row * p.n + at.column + column;
        multiply_panels(range);
        range.back = !range.back;
      }
    }
  }
}

}  // namespace graphrun
