// broadcast_to: broadcasting made explicit.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/sequence.h"
#include "ops/dispatch.h"
#include "ops/parallel.h"
#include "ops/schema.h"
#include "ops/shape/walk.h"

namespace graphrun {
namespace {

template <class T>
void broadcast_rows(const T* x, T* out, const Walk& loops, std::int64_t begin, std::int64_t end) {
  const std::size_t inner = loops.sizes.size() - 1;
  const std::int64_t columns = loops.sizes[inner];
  for (std::int64_t row = begin; row < end; ++row) {
    const T* from = x;
    std::int64_t rest = row;
    for (std::size_t i = inner; i-- > 0;) {
      from += rest % loops.sizes[i] * loops.strides[i];
      rest /= loops.sizes[i];
    }
    if (loops.strides[inner] == 0) {
      std::fill_n(out + row * columns, columns, *from);
    } else {
      std::copy_n(from, columns, out + row * columns);
    }
  }
}

REGISTER_OP("broadcast_to", "shape")
    .Doc(
        "y = x, repeated along the axes that it lacks or that have size 1.\n"
        "  x [batch, 1] -> y [time, batch, n]\n"
        "  let: \"row = broadcast_to(bias, shape=[batch, hidden])\"")
    .Input("x", "[...]")
    .Required("shape", AttributeKind::kShape, "the shape of the result: the axes of x, aligned at the last, are the same or 1")
    .OverSequence([](ir::SequenceContext& c) {
      const Shape& shape = c.attributes.shape("shape");
      return c.again({c.aligned(0, shape.size())}, {{"shape", c.with_steps(shape)}});
    })
    .Role(ir::Role::kBroadcast)
    .Access(ir::Access::kRearrange)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      const Shape &x = c.input(0).shape, &shape = c.attributes->shape("shape");
      if (broadcast(x, shape) != shape) {
        throw ir::OpError("E0301 shape-mismatch", "broadcast_to: " + str(x) + " does not broadcast to " + str(shape),
                          "help: counted from the last, each axis of x is the same as in the result, or 1");
      }
      c.outputs = {{c.input(0).type, shape}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs()) c.set(0, c.b.sum_to(c.g(), Shape(c.shape(c.x()))));
    });
REGISTER_KERNEL("broadcast_to", kCpu, [](const KernelRequest& request) {
  const Walk loops = loops_of(request.inputs[0].sizes, request.outputs[0].sizes);
  const std::int64_t count = request.outputs[0].count();
  return with_bits(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[=](const KernelContext& c) {
      if (count == 0) return;
      parallel_for(count / loops.sizes.back(), count, [&](std::int64_t begin, std::int64_t end) {
        broadcast_rows(c.inputs[0].as<T>(), c.outputs[0].as<T>(), loops, begin, end);
      });
    }};
  });
});

}  // namespace
}  // namespace graphrun
