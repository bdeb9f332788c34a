// Multiplies one panel of a narrow matrix by rows, with the best available instruction set.
#pragma once

#include <cstdint>

namespace graphrun {

template <class T>  // std::int8_t, or std::uint16_t: the bits of bfloat16
struct NarrowPanel {
  const T* panel = nullptr;       // [k, width], width a multiple of kColumnStep
  const float* scales = nullptr;  // of its columns; null if there are none
  const float* a = nullptr;
  float* c = nullptr;
  std::int64_t rows = 0, k = 0, width = 0, c_row = 0;  // strides: k between rows of a, c_row between rows of c
  std::int64_t columns = 0;                            // of c in this panel; the columns beyond are padding
  bool accumulate = false;
};

void multiply_panel(const NarrowPanel<std::int8_t>& panel);
void multiply_panel(const NarrowPanel<std::uint16_t>& panel);

}  // namespace graphrun
