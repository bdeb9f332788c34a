// Finds the position of the first maximum or minimum along an axis.
#pragma once

#include <cstdint>

#include "ops/reduce/columns.h"

namespace graphrun {

// The first of the largest (or smallest) of n >= 1 elements; a NaN (the first one) wins over every number. Eight independent
// candidates find the value, and a second pass finds its position: neither has a data-dependent branch.
template <bool kMax, class T>
std::int64_t first_extreme(const T* row, std::int64_t n) {
  constexpr std::int64_t kSide = 8;
  T best[kSide];
  std::fill_n(best, kSide, row[0]);
  bool ordered = true;
  std::int64_t a = 0;
  for (; a + kSide <= n; a += kSide) {
    for (std::int64_t k = 0; k < kSide; ++k) {
      const T x = row[a + k];
      best[k] = (kMax ? x > best[k] : x < best[k]) ? x : best[k];
      ordered &= x == x;
    }
  }
  for (; a < n; ++a) {
    best[0] = (kMax ? row[a] > best[0] : row[a] < best[0]) ? row[a] : best[0];
    ordered &= row[a] == row[a];
  }
  if (!ordered) return std::find_if(row, row + n, [](T x) { return x != x; }) - row;
  const T value = kMax ? *std::max_element(best, best + kSide) : *std::min_element(best, best + kSide);
  return std::find(row, row + n, value) - row;
}

// Calls found(result, position) for each of the results [begin, end) that has at least one position.
template <bool kMax, class T, class Found>
void first_extremes(const T* x, const AxisView& view, const Lengths& lengths, std::int64_t begin, std::int64_t end,
                    const Found& found) {
  const auto better = [](T candidate, T best) {
    return (kMax ? candidate > best : candidate < best) || (candidate != candidate && best == best);
  };
  if (view.inner == 1) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = x + r * view.n;
      const std::int64_t n = lengths.at(r);
      if (n > 0) found(r, first_extreme<kMax>(row, n));
    }
    return;
  }
  // Column by column, within strips that are in one row of x, so that rows are read in order.
  std::int64_t best[kStrip], limit[kStrip];
  T value[kStrip];
  for (std::int64_t r = begin; r < end;) {
    const std::int64_t outer = r / view.inner, column = r % view.inner;
    const std::int64_t width = std::min({kStrip, view.inner - column, end - r});
    const T* first = x + outer * view.n * view.inner + column;
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      limit[i] = lengths.at(r + i);
      most = std::max(most, limit[i]);
      best[i] = 0;
      if (view.n > 0) value[i] = first[i];
    }
    for (std::int64_t a = 1; a < most; ++a) {
      const T* row = first + a * view.inner;
      for (std::int64_t i = 0; i < width; ++i) {
        if (a < limit[i] && better(row[i], value[i])) best[i] = a, value[i] = row[i];
      }
    }
    for (std::int64_t i = 0; i < width; ++i) {
      if (limit[i] > 0) found(r + i, best[i]);
    }
    r += width;
  }
}

}  // namespace graphrun
