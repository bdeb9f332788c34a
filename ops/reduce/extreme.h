// Where the first maximum or minimum along an axis stands.
#pragma once

#include <cstdint>

#include "ops/reduce/columns.h"

namespace graphrun {

// Calls found(result, position) for each of the results [begin, end) that has positions at all: the first of equals; a NaN, as
// the first of its kind, wins over every number.
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
      std::int64_t best = 0;
      for (std::int64_t a = 1; a < n; ++a) {
        if (better(row[a], row[best])) best = a;
      }
      if (n > 0) found(r, best);
    }
    return;
  }
  // Column by column within strips that lie in one row of x, so that rows are read in order.
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
