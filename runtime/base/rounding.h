// What a program's products round: the weights, and the factors.
#pragma once

#include <cstdint>

namespace graphrun {

// The form in which kernels store constant float32 matrices that they multiply with. The narrower forms round a copy of the
// matrix: to bfloat16, or to int8 with a scale for each column of the product's right factor. With int8 the left factor becomes
// int8 as well, with a scale for each row. CPU only; other devices use float32.
enum class WeightForm : std::uint8_t { kFloat32, kBFloat16, kInt8 };

// What the factors of float32 products are rounded to, if the device can multiply such numbers: TF32 has 11 bits of precision,
// bfloat16 has 8, and both have float32's range. Tensors, sums, parameters and optimizer state stay float32. GPUs of compute
// capability 8.0 or higher support both, processors with AVX512_BF16 support bfloat16 (runtime/base/processor.h); all others
// multiply float32. A GPU's loops, and its scans with constant right factors and 5 to 128 rows, multiply full float32 as sums
// of TF32 products (runtime/cuda/matrix_units.h).
enum class ProductPrecision : std::uint8_t { kFloat32, kTf32, kBFloat16 };

}  // namespace graphrun
