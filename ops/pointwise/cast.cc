// cast: an element's type changed. FLOAT stays FLOAT whatever float it is, so no gradient meets a change of precision here.
#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/over_sequence.h"
#include "ops/type_attribute.h"
#include "runtime/threads.h"

namespace graphrun {
namespace {

// Towards zero, and to the nearest end of the range beyond it; NaN becomes 0.
template <class F>
std::int32_t to_int32(F x) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min(),
                         kHighest = std::numeric_limits<std::int32_t>::max();
  if (!(x == x)) return 0;
  if (x <= static_cast<F>(kLowest)) return kLowest;
  if (x >= static_cast<F>(kHighest)) return kHighest;  // as float this is 2^31, beyond the range
  return static_cast<std::int32_t>(x);
}

// To: std::uint8_t stands for BOOL.
template <class From, class To>
To convert(From x) {
  if constexpr (std::is_same_v<To, std::uint8_t>) {
    return x != From{0} ? 1 : 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, std::int32_t>) {
    return to_int32(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void run(const KernelContext& c) {
  const From* in = c.inputs[0].as<const From>();
  To* out = c.outputs[0].as<To>();
  const std::int64_t count = c.outputs[0].count();
  parallel_ranges(count, 16384, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = convert<From, To>(in[i]);
  });
}

template <class From>
Kernel bind_from(DType to) {
  switch (to) {
    case DType::kFloat32: return {run<From, float>, 0};
    case DType::kFloat64: return {run<From, double>, 0};
    case DType::kInt32: return {run<From, std::int32_t>, 0};
    case DType::kBool: return {run<From, std::uint8_t>, 0};
  }
  throw InternalError("cast: no such dtype");
}

Kernel bind(const KernelRequest& request) {
  const DType to = request.outputs.at(0).dtype;
  switch (request.inputs.at(0).dtype) {
    case DType::kFloat32: return bind_from<float>(to);
    case DType::kFloat64: return bind_from<double>(to);
    case DType::kInt32: return bind_from<std::int32_t>(to);
    case DType::kBool: return bind_from<std::uint8_t>(to);
  }
  throw InternalError("cast: no such dtype");
}

REGISTER_OP("cast", "pointwise")
    .Doc(
        "y = x as another type. FLOAT to INT32 drops the fraction, gives the nearest number there is for one beyond its range, "
        "and\n"
        "0 for what is not a number; to BOOL: x != 0; BOOL to a number: 0 or 1.\n"
        "  let: \"count = cast(words == 3, type='INT32')\"")
    .Input("x", "[...] of any type")
    .Required("type", AttributeKind::kString, kTypeDoc)
    .OverSequence(over_leading_axes())
    .Output("y")
    .Shape([](ir::InferContext& c) {
      c.outputs = {{type_attribute(c), c.input(0).shape}};
    })
    .Gradient([](ir::GradientContext& c) {
      // Whole numbers and truth values have no gradient, so what comes through INT32 or BOOL stops there.
      if (c.needs(0) && c.type(c.x()).type == Type::kFloat && c.type(c.y()).type == Type::kFloat) c.set(0, c.g());
    });
REGISTER_KERNEL("cast", kCpu, bind);

}  // namespace
}  // namespace graphrun
