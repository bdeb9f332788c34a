// cast: changes the element type. FLOAT to FLOAT never changes the precision, so gradients need no conversion.
#include "ops/tiles/cast.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "ops/over_sequence.h"
#include "ops/tiles/tile_program.h"
#include "ops/type_attribute.h"

namespace graphrun {
namespace {

// Truncates toward zero and clamps to the range; NaN becomes 0.
template <class F>
std::int32_t to_int32(F x) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min(),
                         kHighest = std::numeric_limits<std::int32_t>::max();
  if (!(x == x)) return 0;
  if (x <= static_cast<F>(kLowest)) return kLowest;
  if (x >= static_cast<F>(kHighest)) return kHighest;  // as a float this is 2^31, which is out of range
  return static_cast<std::int32_t>(x);
}

// To: std::uint8_t means BOOL.
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
void tile(const void* const* in, const bool* scalar, void* out, std::size_t n) {
  const From* from = static_cast<const From*>(in[0]);
  To* to = static_cast<To*>(out);
  if (scalar[0]) {
    std::fill(to, to + n, convert<From, To>(*from));
  } else {
    for (std::size_t i = 0; i < n; ++i) to[i] = convert<From, To>(from[i]);
  }
}

template <class From>
PointwiseTile tile_from(DType to) {
  switch (to) {
    case DType::kFloat32: return tile<From, float>;
    case DType::kFloat64: return tile<From, double>;
    case DType::kInt32: return tile<From, std::int32_t>;
    case DType::kBool: return tile<From, std::uint8_t>;
  }
  throw InternalError("cast: no such dtype");
}

Kernel bind_cast(const KernelRequest& request) {
  const DType from = request.inputs.at(0).dtype, to = request.outputs.at(0).dtype;
  TileStep step{cast_tile(from, to), 1, {}, to, 0, 1};
  return tile_kernel(std::make_shared<TileProgram>(request.outputs[0].sizes, request.inputs, TileSteps{{step}, {}}));
}

REGISTER_OP("cast", "pointwise")
    .Doc(
        "y = x converted to another type. FLOAT to INT32 truncates toward zero, clamps to the range, and converts NaN to 0; "
        "any\n"
        "type to BOOL is x != 0; BOOL to a number is 0 or 1.\n"
        "  let: \"count = cast(words == 3, type='INT32')\"")
    .Input("x", "[...] of any type")
    .Required("type", AttributeKind::kString, kTypeDoc)
    .OverSequence(over_leading_axes())
    .Role(ir::Role::kCast)
    .Access(ir::Access::kElementwise)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      c.outputs = {{type_attribute(c), c.input(0).shape}};
    })
    .Gradient([](ir::GradientContext& c) {
      // Integers and booleans have no gradient, so gradients through INT32 or BOOL stop here.
      if (c.needs(0) && c.type(c.x()).type == Type::kFloat && c.type(c.y()).type == Type::kFloat) c.set(0, c.g());
    });
REGISTER_KERNEL("cast", kCpu, bind_cast);

}  // namespace

PointwiseTile cast_tile(DType from, DType to) {
  switch (from) {
    case DType::kFloat32: return tile_from<float>(to);
    case DType::kFloat64: return tile_from<double>(to);
    case DType::kInt32: return tile_from<std::int32_t>(to);
    case DType::kBool: return tile_from<std::uint8_t>(to);
  }
  throw InternalError("cast: no such dtype");
}

}  // namespace graphrun
