// Values that depend only on their attributes: constant, zeros, full, dim, range.
#include <algorithm>
#include <cstring>
#include <iomanip>
#include <limits>
#include <sstream>

#include "ops/constant/size_as_int32.h"
#include "ops/type_attribute.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

// Checks that the number `value` is valid for `type`.
void check_value(const ir::InferContext& c, Type type) {
  const double value = c.attributes->number("value");
  const bool fits_int32 = value >= std::numeric_limits<std::int32_t>::min() &&
                          value <= std::numeric_limits<std::int32_t>::max() &&
                          value == static_cast<double>(static_cast<std::int32_t>(value));
  const bool fits = type == Type::kFloat || (type == Type::kInt32 ? fits_int32 : value == 0 || value == 1);
  if (!fits) {
    std::ostringstream number;
    number << std::setprecision(15) << value;
    throw ir::OpError("E0306 wrong-attribute",
                      number.str() + " is no " + std::string(name_of(type)) + "; expected " +
                          (type == Type::kInt32 ? "a whole number from -2147483648 to 2147483647" : "0 or 1"));
  }
}

// Fills the result with `value`, converted to its element type.
void fill(const TensorView& out, double value) {
  const std::int64_t count = out.count();
  parallel_ranges(count, 65536, [&](std::int64_t begin, std::int64_t end) {
    switch (out.dtype) {
      case DType::kFloat32: std::fill(out.as<float>() + begin, out.as<float>() + end, static_cast<float>(value)); break;
      case DType::kFloat64: std::fill(out.as<double>() + begin, out.as<double>() + end, value); break;
      case DType::kInt32:
        std::fill(out.as<std::int32_t>() + begin, out.as<std::int32_t>() + end, static_cast<std::int32_t>(value));
        break;
      case DType::kBool: std::memset(out.as<std::uint8_t>() + begin, value != 0, static_cast<std::size_t>(end - begin)); break;
    }
  });
}

Kernel bind_filled(const KernelRequest& request) {
  const double value = request.attributes->has("value") ? request.attributes->number("value") : 0;
  return {[value](const KernelContext& c) { fill(c.outputs[0], value); }, 0};
}

constexpr const char* kNoOperands = "it has no operands";

REGISTER_OP("constant", "constant")
    .Doc("A scalar constant. Literals in equations become this op.\n  let: \"half = constant(value=0.5)\"")
    .Required("value", AttributeKind::kFloat, "the number: an integer for INT32, 0 or 1 for BOOL")
    .String("type", "FLOAT", kTypeDoc)
    .Role(ir::Role::kNumber)
    .Output("y")
    .NoGradient(kNoOperands)
    .Shape([](ir::InferContext& c) {
      const Type type = type_attribute(c);
      check_value(c, type);
      c.outputs = {{type, {}}};
    });
REGISTER_KERNEL("constant", kCpu, bind_filled);

REGISTER_OP("zeros", "constant")
    .Doc("A tensor of zeros (or false).\n  let: \"start = zeros(shape=[batch, hidden])\"")
    .Required("shape", AttributeKind::kShape, "the result's sizes")
    .String("type", "FLOAT", kTypeDoc)
    .Role(ir::Role::kZeros)
    .Output("y")
    .NoGradient(kNoOperands)
    .Shape([](ir::InferContext& c) {
      c.outputs = {{type_attribute(c), c.attributes->shape("shape")}};
    });
REGISTER_KERNEL("zeros", kCpu, bind_filled);

REGISTER_OP("full", "constant")
    .Doc("A tensor whose elements are all the same number.\n  let: \"ones = full(shape=[batch, hidden], value=1)\"")
    .Required("shape", AttributeKind::kShape, "the result's sizes")
    .Required("value", AttributeKind::kFloat, "the number: an integer for INT32, 0 or 1 for BOOL")
    .String("type", "FLOAT", kTypeDoc)
    .Output("y")
    .NoGradient(kNoOperands)
    .Shape([](ir::InferContext& c) {
      const Type type = type_attribute(c);
      check_value(c, type);
      c.outputs = {{type, c.attributes->shape("shape")}};
    });
REGISTER_KERNEL("full", kCpu, bind_filled);

REGISTER_OP("dim", "constant")
    .Doc("A size as an INT32 scalar. The name of a size in an expression becomes this op.\n  let: \"average = total / time\"")
    .Required("size", AttributeKind::kDim, "the size")
    .Role(ir::Role::kSize)
    .Output("y")
    .NoGradient(kNoOperands)
    .Shape([](ir::InferContext& c) {
      c.outputs = {{Type::kInt32, {}}};
    });
REGISTER_KERNEL("dim", kCpu, [](const KernelRequest& request) -> Kernel {
  const std::int32_t size = size_as_int32(request.attributes->dim("size").evaluate(*request.symbols));
  return {[size](const KernelContext& c) { *c.outputs[0].as<std::int32_t>() = size; }, 0};
});

REGISTER_OP("range", "constant")
    .Doc("The integers from 0 to n - 1: y [n] INT32.\n  let: \"wrong = range(labels) != expand(gold, axis=-1)\"")
    .Required("n", AttributeKind::kDim, "how many numbers")
    .Role(ir::Role::kRange)
    .Output("y")
    .NoGradient(kNoOperands)
    .Shape([](ir::InferContext& c) {
      const Dim& n = c.attributes->dim("n");
      if (n.is_constant() && n.constant() < 0)
        throw ir::OpError("E0306 wrong-attribute", "range: n is " + n.str() + "; a range has 0 numbers or more");

      c.outputs = {{Type::kInt32, {c.attributes->dim("n")}}};
    });
REGISTER_KERNEL("range", kCpu, [](const KernelRequest& request) -> Kernel {
  size_as_int32(request.outputs.at(0).count());
  return {[](const KernelContext& c) {
            auto* out = c.outputs[0].as<std::int32_t>();
            const std::int64_t n = c.outputs[0].count();
            for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<std::int32_t>(i);
          },
          0};
});

}  // namespace
}  // namespace graphrun
