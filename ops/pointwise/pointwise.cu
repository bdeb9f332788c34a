// The table's ops (ops/tiles/table.def) and cast on CUDA: one kernel for each op and element type.
#include "ops/dispatch.h"
#include "ops/generated/device_launch.h"
#include "ops/generated/device_lines.h"
#include "ops/generated/lone_part.h"
#include "ops/schema.h"
#include "ops/tiles/table.h"
#include "runtime/cuda/launch.h"

namespace graphrun {
namespace {

using element::OperandPlace;

// An operand and the position of its elements.
template <class T>
struct PlacedOperand {
  const T* data;
  OperandPlace place;
  GRAPHRUN_DEVICE T at(std::int64_t i) const { return data[place.at(i)]; }
};

template <class Line, class In, class Out>
struct Body1 {
  PlacedOperand<In> x;
  Out* y;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const { y[i] = static_cast<Out>(Line::template of<In>(x.at(i))); }
};
template <class Line, class In, class Out>
struct Body2 {
  PlacedOperand<In> a, b;
  Out* y;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const { y[i] = static_cast<Out>(Line::template of<In>(a.at(i), b.at(i))); }
};
template <class Line, class In, class Out>
struct Body3 {
  PlacedOperand<std::uint8_t> condition;
  PlacedOperand<In> a, b;
  Out* y;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const {
    y[i] = static_cast<Out>(Line::template of<In>(condition.at(i) != 0, a.at(i), b.at(i)));
  }
};

template <int arity, class Line, class In, class Out>
Kernel line_kernel(const KernelRequest& request) {
  const std::int64_t count = request.outputs[0].count();
  const std::vector<OperandPlace> at = operand_places(request.outputs[0].sizes, request.inputs);
  return {[=](const KernelContext& c) {
    const auto in = [&](std::size_t k) { return PlacedOperand<In>{c.inputs[k].as<In>(), at[k]}; };
    Out* y = c.outputs[0].as<Out>();
    if constexpr (arity == 1) {
      cuda::for_elements(c, count, Body1<Line, In, Out>{in(0), y});
    } else if constexpr (arity == 2) {
      cuda::for_elements(c, count, Body2<Line, In, Out>{in(0), in(1), y});
    } else {
      const PlacedOperand<std::uint8_t> condition{c.inputs[0].as<std::uint8_t>(), at[0]};
      cuda::for_elements(c, count, Body3<Line, In, Out>{condition, in(1), in(2), y});
    }
  }};
}

// The kernel for the operands' type (for where: the type of a and b), if the line admits it.
template <class Line, ir::Promotion promotion, int arity>
Kernel bind_line(const KernelRequest& request) {
  return with_any(request.inputs.back().dtype, [&](auto zero) -> Kernel {
    using T = decltype(zero);
    using Bool = std::uint8_t;
    constexpr bool kFloats = std::is_floating_point_v<T>, kNumbers = !std::is_same_v<T, Bool>;
    if constexpr (promotion == ir::Promotion::kArithmetic && kNumbers) {
      return line_kernel<arity, Line, T, T>(request);
    } else if constexpr (promotion == ir::Promotion::kFloat && kFloats) {
      return line_kernel<arity, Line, T, T>(request);
    } else if constexpr (promotion == ir::Promotion::kCompare) {
      return line_kernel<arity, Line, T, Bool>(request);
    } else if constexpr (promotion == ir::Promotion::kLogical && !kNumbers) {
      return line_kernel<arity, Line, T, Bool>(request);
    } else if constexpr (promotion == ir::Promotion::kSelect) {
      return line_kernel<arity, Line, T, T>(request);
    } else {
      throw InternalError("no kernel for " + std::string(name_of(request.inputs.back().dtype)));
    }
  });
}

template <class Line, ir::Promotion promotion, int arity>
KernelFactory line_factory(const char* name) {
  return [name](const KernelRequest& request) {
    Kernel kernel = bind_line<Line, promotion, arity>(request);
    take_part_alone(kernel, request, name);
    return kernel;
  };
}

#define LINE(name, promotion, arity) \
  REGISTER_KERNEL(#name, kCuda, line_factory<lines::Op_##name, ir::Promotion::promotion, arity>(#name));
#define UNARY(name, promotion, ...) LINE(name, promotion, 1)
#define BINARY(name, promotion, ...) LINE(name, promotion, 2)
#define TERNARY(name, promotion, ...) LINE(name, promotion, 3)
#include "ops/tiles/table.def"
#undef LINE
#undef UNARY
#undef BINARY
#undef TERNARY

// BOOL differs from a one-byte number only by the result's type.
template <class From, class To, bool to_bool>
struct CastBody {
  const From* x;
  To* y;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const {
    if constexpr (to_bool) {
      y[i] = element::to_bool(x[i]);
    } else {
      y[i] = element::cast<To>(x[i]);
    }
  }
};

REGISTER_KERNEL("cast", kCuda, [](const KernelRequest& request) {
  const std::int64_t count = request.outputs[0].count();
  Kernel kernel = with_any(request.inputs[0].dtype, [&](auto from) {
    return with_any(request.outputs[0].dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      return Kernel{[count](const KernelContext& c) {
        using Body = CastBody<From, To, std::is_same_v<To, std::uint8_t>>;
        cuda::for_elements(c, count, Body{c.inputs[0].as<From>(), c.outputs[0].as<To>()});
      }};
    });
  });
  ir::PointwiseProgram::Instruction cast;
  const DType to = request.outputs[0].dtype;
  cast.to = to == DType::kInt32 ? Type::kInt32 : to == DType::kBool ? Type::kBool : Type::kFloat;
  take_part_alone(kernel, request, "cast", std::move(cast));
  return kernel;
});

}  // namespace
}  // namespace graphrun
