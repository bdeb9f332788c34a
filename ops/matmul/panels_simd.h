// Rows times adjacent panels of columns, vectorized.
#pragma once

#include <cstdint>

namespace graphrun {

template <class T>
struct PanelTask {
  const float* rows = nullptr;  // [count, terms], rows_row elements apart
  const T* columns = nullptr;   // [panels, terms, width]; width a multiple of kColumnStep, at most kMostPanel
  float* sums = nullptr;        // [count, panels · width], in rows of sums_row elements
  std::int64_t count = 0, terms = 0, width = 0, rows_row = 0, sums_row = 0;
  std::int64_t panels = 1;        // 1, or panels_at_once
  std::int64_t last_columns = 0;  // the columns of the last panel that have sums; the others are padding
  bool adds = false;              // to `sums`, instead of overwriting them
  const T* next = nullptr;        // the panel to be multiplied next, which is prefetched; or null
};

// How many panels of `width` columns to multiply at once: 1, 2 or 4. With few rows, reading the panels takes the time, and a
// core reads faster from several places of memory than from one.
std::int64_t panels_at_once(std::int64_t count, std::int64_t width);

// Whether multiply_panels uses 32 vector registers (AVX-512) instead of 16.
bool has_many_registers();

// to[j · to_row + i] = from[i · from_row + j] for i below `rows` and j below `columns`.
struct TransposedCopy {
  const float* from = nullptr;
  float* to = nullptr;
  std::int64_t from_row = 0, to_row = 0, rows = 0, columns = 0;
};
void copy_transposed(const TransposedCopy& copy);

void multiply_panels(const PanelTask<float>& task);
void multiply_panels(const PanelTask<std::uint16_t>& task);  // bfloat16

}  // namespace graphrun
