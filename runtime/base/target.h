// What a program runs on, and how exactly it computes there.
#pragma once

#include <cstdint>

namespace graphrun {

enum class Device : std::uint8_t { kCpu, kCuda };

// How kernels keep lasting matrices of float32 that they multiply by. Narrower forms round a copy of the matrix: to bfloat16, or
// to int8 with a scale for each column of the product's right factor; in int8 they also round what they multiply, with a scale
// for each row. On the CPU; other devices keep float32.
enum class WeightForm : std::uint8_t { kFloat32, kBFloat16, kInt8 };

// What the factors of float32 products are rounded to, where the device multiplies such numbers: TF32 has 11 bits of precision,
// bfloat16 8, both float32's range. Tensors, sums, parameters and optimizer state are float32 all the same. GPUs of compute
// capability 8.0 on do both, processors with AVX512_BF16 bfloat16 (runtime/base/processor.h); all others multiply float32.
enum class ProductPrecision : std::uint8_t { kFloat32, kTf32, kBFloat16 };

struct Target {
  // A device says it all where nothing is rounded.
  Target(Device d = Device::kCpu, WeightForm w = WeightForm::kFloat32, ProductPrecision p = ProductPrecision::kFloat32)
      : device(d), weights(w), products(p) {}

  Device device;
  WeightForm weights;
  ProductPrecision products;
};

}  // namespace graphrun
