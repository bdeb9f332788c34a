// transpose: permutes axes.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "compiler/ir/sequence.h"
#include "ops/dispatch.h"
#include "ops/parallel.h"
#include "ops/schema.h"
#include "ops/shape/walk.h"

namespace graphrun {
namespace {

void check_permutation(const ir::InferContext& c) {
  const std::vector<std::int64_t>& given = c.attributes->integers("permutation");
  const std::size_t rank = c.input(0).shape.size();
  if (given.empty()) {
    ir::require_rank_at_least(c, 0, 2);
    return;
  }
  std::vector<bool> seen(rank, false);
  bool good = given.size() == rank;
  for (std::size_t i = 0; good && i < rank; ++i) {
    const auto axis = static_cast<std::size_t>(ir::resolve_axis(given[i], rank, "transpose"));
    good = !seen[axis];
    seen[axis] = true;
  }
  if (!good) {
    throw ir::OpError("E0306 wrong-attribute",
                      "transpose: permutation does not name each axis of " + c.input(0).str() + " once",
                      "help: permutation=[1, 0, 2] swaps the first two of three axes; without it the last two are swapped");
  }
}

// One plane of the result: rows [begin, end) of [rows, columns], read from x with two strides. If columns are far apart in x,
// square blocks keep the cache lines that are read and written in the cache.
template <class T>
void copy_plane(const T* x, T* out, std::int64_t begin, std::int64_t end, std::int64_t columns, std::int64_t row_stride,
                std::int64_t column_stride) {
  if (column_stride == 1) {
    for (std::int64_t r = begin; r < end; ++r) std::copy_n(x + r * row_stride, columns, out + r * columns);
    return;
  }
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t r0 = begin; r0 < end; r0 += kBlock) {
    const std::int64_t r1 = std::min(r0 + kBlock, end);
    for (std::int64_t c0 = 0; c0 < columns; c0 += kBlock) {
      const std::int64_t c1 = std::min(c0 + kBlock, columns);
      for (std::int64_t r = r0; r < r1; ++r) {
        for (std::int64_t k = c0; k < c1; ++k) out[r * columns + k] = x[r * row_stride + k * column_stride];
      }
    }
  }
}

template <class T>
void transpose(const T* x, T* out, const Walk& walk) {
  const std::size_t rank = walk.sizes.size();
  const std::int64_t rows = walk.sizes[rank - 2], columns = walk.sizes[rank - 1];
  std::int64_t planes = 1;
  for (std::size_t i = 0; i + 2 < rank; ++i) planes *= walk.sizes[i];
  // Divide the rows of all planes together: there may be a single plane, or many small ones.
  parallel_for(planes * rows, planes * rows * columns, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t plane = begin / rows, first = begin % rows, last = std::min(rows, first + end - begin);
      const T* from = x;
      for (std::int64_t i = static_cast<std::int64_t>(rank) - 3, rest = plane; i >= 0; --i) {
        const auto at = static_cast<std::size_t>(i);
        from += rest % walk.sizes[at] * walk.strides[at];
        rest /= walk.sizes[at];
      }
      copy_plane(from, out + plane * rows * columns, first, last, columns, walk.strides[rank - 2], walk.strides[rank - 1]);
      begin += last - first;
    }
  });
}

REGISTER_OP("transpose", "shape")
    .Doc(
        "x with its axes permuted: axis k of the result is axis permutation[k] of x. Without a permutation, the last two axes\n"
        "are swapped.\n"
        "  x [..., n, k] -> y [..., k, n]\n"
        "  let: \"logits = h @ transpose(E)\"    let: \"by_row = transpose(x, permutation=[1, 0, 2])\"")
    .Input("x", "[...]")
    .Default("permutation", AttributeKind::kInts, std::vector<std::int64_t>{}, "each axis of x once; absent: swap the last two")
    .OverSequence([](ir::SequenceContext& c) {
      std::vector<std::int64_t> order = {0};
      for (std::size_t axis : permutation_of(c.attributes, c.rank(0))) order.push_back(static_cast<std::int64_t>(axis) + 1);
      return c.again({c.sequence(0)}, {{"permutation", order}});
    })
    .Role(ir::Role::kTranspose)
    .Access(ir::Access::kRearrange)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      check_permutation(c);
      const Shape& x = c.input(0).shape;
      Shape out;
      for (std::size_t axis : permutation_of(*c.attributes, x.size())) out.push_back(x[axis]);
      c.outputs = {{c.input(0).type, std::move(out)}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (!c.needs()) return;
      const std::vector<std::size_t> order = permutation_of(c.attributes, c.shape(c.x()).size());
      std::vector<std::int64_t> back;
      if (!c.attributes.integers("permutation").empty()) {
        back.resize(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
      }
      c.set(0, c.b.op("transpose", {c.g()}, {{"permutation", back}}));
    });
REGISTER_KERNEL("transpose", kCpu, [](const KernelRequest& request) {
  const Sizes& x = request.inputs[0].sizes;
  const Walk walk = walk_of(x, permutation_of(*request.attributes, x.size()));
  return with_bits(request.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[walk](const KernelContext& c) { transpose(c.inputs[0].as<T>(), c.outputs[0].as<T>(), walk); }};
  });
});

}  // namespace
}  // namespace graphrun
