// mask and last, which depend on where padding begins, and sequence_mask.
#include <algorithm>
#include <cstdint>

#include "ops/axis.h"
#include "ops/dispatch.h"
#include "ops/over_sequence.h"
#include "ops/parallel.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

constexpr const char* kLengthsDoc =
    "INT32: the number of real positions along axis; its shape is that of x without axis, or leads it";

AxisView bound_view(const KernelRequest& request, const Sizes& sizes) {
  return view_axis(sizes, ir::resolve_axis(request.attributes->integer("axis"), sizes.size(), "axis"));
}

// Calls run(i, count, length) for each run of adjacent columns of one outer index that share a length.
template <class Run>
void over_runs(const AxisView& view, const Lengths& lengths, std::int64_t outer, const Run& run) {
  for (std::int64_t i = 0; i < view.inner;) {
    const std::int64_t r = outer * view.inner + i;
    const std::int64_t count = std::min(view.inner - i, lengths.repeat - r % lengths.repeat);
    run(i, count, lengths.at(r));
    i += count;
  }
}

template <class T>
void mask(const T* x, T* out, const AxisView& view, const Lengths& lengths) {
  parallel_for(view.outer * view.n, view.count(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* from = x + row * view.inner;
      T* to = out + row * view.inner;
      over_runs(view, lengths, row / view.n, [&](std::int64_t i, std::int64_t count, std::int64_t length) {
        if (row % view.n >= length) {
          std::fill_n(to + i, count, T{0});
        } else if (from != to) {
          std::copy_n(from + i, count, to + i);
        }
      });
    }
  });
}

REGISTER_OP("mask", "index")
    .Doc(
        "y = x at positions below `lengths` along axis, 0 (or false) from there on, by selection: what padding holds\n"
        "does not matter.\n"
        "  x [..., n, ...] -> y of x's shape\n"
        "  let: \"nll = mask(cross_entropy(logits, target), lengths=lengths, axis=0)\"")
    .Input("x", "[...]")
    .Input("lengths", kLengthsDoc)
    .Required("axis", AttributeKind::kInt, "the axis of padding")
    .OverSequence(over_leading_axes_with_axis())
    .Output("y")
    .InPlace(0, 0)
    .Shape([](ir::InferContext& c) {
      ir::check_lengths(c, 0, 1, ir::resolve_axis(c.attributes->integer("axis"), c.input(0).shape.size(), "mask"));
      c.outputs = {c.input(0)};
    })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs()) c.set(0, c.b.op("mask", {c.g(), c.x(1)}, {{"axis", c.attributes.integer("axis")}}));
    });
REGISTER_KERNEL("mask", kCpu, [](const KernelRequest& request) {
  const AxisView view = bound_view(request, request.inputs[0].sizes);
  return with_bits(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{
        [view](const KernelContext& c) { mask(c.inputs[0].as<T>(), c.outputs[0].as<T>(), view, lengths_of(c, 1, view)); }};
  });
});

REGISTER_OP("last", "index")
    .Doc(
        "y = x at the last real position of axis, lengths - 1; 0 where the length is 0.\n"
        "  x [time, batch, ...], lengths [batch] -> y [batch, ...]\n"
        "  let: \"summary = last(forward.h, lengths=lengths)\"")
    .Input("x", "[...]")
    .Input("lengths", kLengthsDoc)
    .Int("axis", 0, "the axis of time")
    .OverSequence(over_leading_axes_with_axis())
    .Output("y")
    .Shape([](ir::InferContext& c) {
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), c.input(0).shape.size(), "last");
      ir::check_lengths(c, 0, 1, axis);
      Shape out = c.input(0).shape;
      out.erase(out.begin() + axis);
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      const Shape x = c.shape(c.x());
      const int axis = ir::resolve_axis(c.attributes.integer("axis"), x.size(), "last");
      c.set(0, c.b.op("last_gradient", {c.g(), c.x(1)},
                      {{"axis", static_cast<std::int64_t>(axis)}, {"size", x[static_cast<std::size_t>(axis)]}}));
    });
REGISTER_KERNEL("last", kCpu, [](const KernelRequest& request) {
  const AxisView view = bound_view(request, request.inputs[0].sizes);
  return with_bits(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[view](const KernelContext& c) {
      const T* x = c.inputs[0].as<T>();
      T* out = c.outputs[0].as<T>();
      const Lengths lengths = lengths_of(c, 1, view);
      for (std::int64_t o = 0; o < view.outer; ++o) {
        over_runs(view, lengths, o, [&](std::int64_t i, std::int64_t count, std::int64_t length) {
          T* to = out + o * view.inner + i;
          if (length == 0) {
            std::fill_n(to, count, T{0});
          } else {
            std::copy_n(x + (o * view.n + length - 1) * view.inner + i, count, to);
          }
        });
      }
    }};
  });
});

REGISTER_OP("last_gradient", "index")
    .Doc(
        "The gradient of last: g at position lengths - 1 of axis, 0 elsewhere.\n"
        "  g [batch, ...], lengths [batch] -> d_x [time, batch, ...]")
    .Input("g", "[...] FLOAT: the gradient of the result")
    .Input("lengths", "INT32: as last had them")
    .Required("axis", AttributeKind::kInt, "the axis of time in the result")
    .Required("size", AttributeKind::kDim, "of that axis")
    .OverSequence(over_leading_axes_with_axis())
    .Output("d_x")
    .Internal()
    .Shape([](ir::InferContext& c) {
      Shape out = c.input(0).shape;
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), out.size() + 1, "last_gradient");
      out.insert(out.begin() + axis, c.attributes->dim("size"));
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .NoGradient("made by differentiation, which is done once");
REGISTER_KERNEL("last_gradient", kCpu, [](const KernelRequest& request) {
  const AxisView view = bound_view(request, request.outputs[0].sizes);
  return with_float(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[view](const KernelContext& c) {
      const T* g = c.inputs[0].as<T>();
      T* out = c.outputs[0].as<T>();
      const Lengths lengths = lengths_of(c, 1, view);
      std::fill_n(out, view.count(), T{0});
      for (std::int64_t o = 0; o < view.outer; ++o) {
        over_runs(view, lengths, o, [&](std::int64_t i, std::int64_t count, std::int64_t length) {
          if (length > 0) std::copy_n(g + o * view.inner + i, count, out + (o * view.n + length - 1) * view.inner + i);
        });
      }
    }};
  });
});

REGISTER_OP("sequence_mask", "index")
    .Doc(
        "y = true at positions below `lengths`, false from there on.\n"
        "  lengths [...] -> y [..., n, ...] BOOL, n at axis\n"
        "  let: \"real = sequence_mask(lengths, n=time)\"   # [time, batch]")
    .Input("lengths", "[...] INT32: the number of real positions")
    .Required("n", AttributeKind::kDim, "the number of positions")
    .Int("axis", 0, "where the axis of positions stands in the result")
    .OverSequence(over_leading_axes_with_axis())
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_type(c, 0, Type::kInt32);
      Shape out = c.input(0).shape;
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), out.size() + 1, "sequence_mask");
      out.insert(out.begin() + axis, c.attributes->dim("n"));
      c.outputs = {{Type::kBool, std::move(out)}};
    })
    .NoGradient("the operand is an integer");
REGISTER_KERNEL("sequence_mask", kCpu, [](const KernelRequest& request) {
  const AxisView view = bound_view(request, request.outputs[0].sizes);
  return Kernel{[view](const KernelContext& c) {
    const auto* lengths = c.inputs[0].as<std::int32_t>();
    auto* out = c.outputs[0].as<std::uint8_t>();
    for (std::int64_t o = 0; o < view.outer; ++o) {
      for (std::int64_t a = 0; a < view.n; ++a) {
        for (std::int64_t i = 0; i < view.inner; ++i) *out++ = a < lengths[o * view.inner + i] ? 1 : 0;
      }
    }
  }};
});

}  // namespace
}  // namespace graphrun
