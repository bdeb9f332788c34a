#include "ops/matmul/product_part.h"

#include "runtime/cuda/matrix_units.h"

namespace graphrun {

const UnitForm& unit_form(ProductPrecision precision) {
  static constexpr UnitForm kFloat32 = {"cuda::SplitFloat32", "float32", cuda::SplitFloat32::kInWord},
                            kTf32 = {"cuda::Tf32", "TF32", cuda::Tf32::kInWord},
                            kBFloat16 = {"cuda::BFloat16", "bfloat16", cuda::BFloat16::kInWord};
  switch (precision) {
    case ProductPrecision::kTf32: return kTf32;
    case ProductPrecision::kBFloat16: return kBFloat16;
    case ProductPrecision::kFloat32: break;
  }
  return kFloat32;
}

}  // namespace graphrun
