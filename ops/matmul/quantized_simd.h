// Converts rows to 8-bit integers, and sums of products back to float32, vectorized.
#pragma once

#include <cstdint>

namespace graphrun {

// Writes k elements as bytes (ops/matmul/instructions/int8_dot.h), then zeros up to `terms`. Returns the scale, the value of
// one step.
float quantize_row(const float* x, std::int64_t k, std::int64_t terms, std::uint8_t* to);

// Sets c [rows, columns] to sums [rows, width] · row scale · column scale, or adds that to c. Rows of c are c_row apart. Sums
// and column scales may be read up to `width`.
struct ScaledSums {
  const std::int32_t* sums = nullptr;
  const float* row_scales = nullptr;
  const float* column_scales = nullptr;
  float* c = nullptr;
  std::int64_t rows = 0, columns = 0, width = 0, c_row = 0;
  bool accumulate = false;
};
void scale_sums(const ScaledSums& s);

}  // namespace graphrun
