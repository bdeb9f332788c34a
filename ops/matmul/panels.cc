#include "ops/matmul/panels.h"

#include <bit>
#include <type_traits>

#include "ops/matmul/panels_simd.h"
#include "ops/matmul/rounded.h"
#include "ops/round_up.h"

namespace graphrun {
namespace {

// Rows of A that stay in the cache while all panels are multiplied, and the fewest that are worth reading the panels again.
constexpr std::int64_t kBytesOfRows = 1 << 20, kFewestRows = 64;

// The upper half of the float's bits. A NaN stays one.
BFloat16Bits bfloat16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<BFloat16Bits>(x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void store_all(const float* from, std::int64_t n, float* to) { std::copy_n(from, n, to); }
void store_all(const float* from, std::int64_t n, BFloat16Bits* to) { std::transform(from, from + n, to, bfloat16_of); }

}  // namespace

template <class T>
void pack_panels(const MatrixProduct& product, const float* b, std::int64_t column, std::int64_t columns, std::int64_t term,
                 std::int64_t terms, std::int64_t panel, T* packed) {
  const std::int64_t row = product.b_row();
  for (std::int64_t done = 0; done < columns; done += panel) {
    const std::int64_t here = std::min(panel, columns - done), width = round_up(here, kColumnStep);
    T* const to = packed + done * terms;
    for (std::int64_t i = 0; i < terms && here < width; ++i) std::fill_n(to + i * width + here, width - here, T{});
    const std::int64_t first = column + done;
    if (!product.transpose_b) {
      for (std::int64_t i = 0; i < terms; ++i) store_all(b + (term + i) * row + first, here, to + i * width);
    } else if constexpr (std::is_same_v<T, float>) {
      copy_transposed({b + first * row + term, to, row, width, here, terms});
    } else {
      for (std::int64_t j = 0; j < here; ++j) {
        for (std::int64_t i = 0; i < terms; ++i) to[i * width + j] = bfloat16_of(b[(first + j) * row + term + i]);
      }
    }
  }
}

template <class T>
void multiply_panels(const PanelRange<T>& range) {
  PanelTask<T> task;
  task.rows = range.a, task.rows_row = range.a_row, task.count = range.rows, task.terms = range.terms;
  task.sums_row = range.c_row, task.adds = range.adds;
  // Groups of full panels, then single ones; with `back`, in the opposite order.
  const std::int64_t panel = range.panel, together = panels_at_once(range.rows, panel);
  const std::int64_t full = range.columns / panel, groups = full / together;
  const std::int64_t pieces = groups + full % together + (range.columns % panel == 0 ? 0 : 1);
  const auto column_of = [&](std::int64_t piece) {
    const std::int64_t i = range.back ? pieces - 1 - piece : piece;
    return (std::min(i, groups) * together + std::max<std::int64_t>(0, i - groups)) * panel;
  };
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t column = column_of(piece);
    task.panels = column < groups * together * panel ? together : 1;
    task.columns = range.packed + column * range.terms, task.sums = range.c + column;
    task.last_columns = std::min(panel, range.columns - column), task.width = round_up(task.last_columns, kColumnStep);
    task.next = piece + 1 < pieces ? range.packed + column_of(piece + 1) * range.terms : range.then;
    multiply_panels(task);
  }
}

template <class T>
void Panels<T>::multiply(const float* a, const T* packed, float* c, std::int64_t begin, std::int64_t end, bool back,
                         const T* then) const {
  const std::int64_t row_bytes = product_.k * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t at_once = std::max(kFewestRows, kBytesOfRows / std::max<std::int64_t>(1, row_bytes));
  const std::int64_t parts = (product_.m + at_once - 1) / at_once;
  PanelRange<T> range;
  range.packed = packed + begin * product_.k, range.columns = end - begin, range.panel = panel_;
  range.terms = range.a_row = product_.k, range.c_row = product_.n, range.adds = product_.accumulate, range.back = back;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t row = product_.m * i / parts;
    range.rows = product_.m * (i + 1) / parts - row;
    range.a = a + row * product_.k, range.c = c + row * product_.n + begin;
    range.then = i + 1 == parts ? then : nullptr;
    multiply_panels(range);
    range.back = !range.back;  // in turns from either end: the last panels are still cached
  }
}

template void pack_panels(const MatrixProduct&, const float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                          std::int64_t, float*);
template void pack_panels(const MatrixProduct&, const float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                          std::int64_t, BFloat16Bits*);
template void multiply_panels(const PanelRange<float>&);
template void multiply_panels(const PanelRange<BFloat16Bits>&);
template class Panels<float>;
template class Panels<BFloat16Bits>;

}  // namespace graphrun
