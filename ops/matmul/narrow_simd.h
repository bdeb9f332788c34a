// Rows times one panel of a narrow matrix, vectorized.
#pragma once

#include <cstdint>

namespace graphrun {

struct NarrowPanel {
  const std::uint16_t* panel = nullptr;  // [k, width] bfloat16, width a multiple of kColumnStep
  const float* a = nullptr;
  float* c = nullptr;
  std::int64_t rows = 0, k = 0, width = 0, c_row = 0;  // a's rows are k apart, c's c_row
  std::int64_t columns = 0;                            // columns of c in this panel; the others are padding
  bool accumulate = false;
};

void multiply_panel(const NarrowPanel& panel);

}  // namespace graphrun
