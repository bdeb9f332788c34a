// One panel of a narrow matrix times rows, for the instruction set at hand.
#pragma once

#include <cstdint>

namespace graphrun {

struct NarrowPanel {
  const std::uint16_t* panel = nullptr;  // [k, width] bfloat16, width a multiple of kColumnStep
  const float* a = nullptr;
  float* c = nullptr;
  std::int64_t rows = 0, k = 0, width = 0, c_row = 0;  // a's rows lie k apart, c's c_row
  std::int64_t columns = 0;                            // of c that it has; those beyond are padding
  bool accumulate = false;
};

void multiply_panel(const NarrowPanel& panel);

}  // namespace graphrun
