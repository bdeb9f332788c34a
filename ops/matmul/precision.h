// The attribute `precision` of products: with 'FLOAT32', a product stays in float32, whatever precision a job requests.
#pragma once

#include <string>

#include "ops/schema.h"

namespace graphrun {

inline constexpr const char* kPrecisionDoc =
    "'FLOAT32': factors are never rounded, whatever precision the job requests; '': they may be";
inline constexpr const char* kFloat32Precision = "FLOAT32";

// Throws OpError if it is another word.
inline void check_precision(const ir::InferContext& c) {
  const std::string& precision = c.attributes->string("precision");
  if (precision.empty() || precision == kFloat32Precision) return;
  throw ir::OpError("E0306 wrong-attribute", c.op->name + ": precision must be 'FLOAT32' or absent, found '" + precision + "'",
                    "help: a job chooses the precision of all other products: product_precision, infer { weights }");
}

// A product's request, in float32 if its attribute says so.
inline KernelRequest in_own_precision(KernelRequest request) {
  if (request.attributes->has("precision") && request.attributes->string("precision") == kFloat32Precision) {
    request.products = ProductPrecision::kFloat32;
    request.weights = WeightForm::kFloat32;
  }
  return request;
}

}  // namespace graphrun
