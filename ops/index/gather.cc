// gather and select_rows, lookups of rows (kernels: ops/index/moves.def), and scatter_add, gather's gradient.
#include <algorithm>
#include <cstdint>

#include "ops/dispatch.h"
#include "ops/indices.h"
#include "ops/over_sequence.h"
#include "ops/parallel.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

Shape joined(const Shape& a, Shape::const_iterator begin, Shape::const_iterator end) {
  Shape out = a;
  out.insert(out.end(), begin, end);
  return out;
}

REGISTER_OP("gather", "index")
    .Doc(
        "y[i…] = table[indices[i…]]: rows of a table, such as an embedding.\n"
        "  table [n, …rest], indices [...] in [0, n) -> y [..., …rest]\n"
        "  let: \"x = gather(embedding, words)\"")
    .Input("table", "[n, ...]")
    .Input("indices", "[...] INT32: the rows to look up")
    .OverSequence(over_leading_axes({0}))
    .Access(ir::Access::kLookup)
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_rank_at_least(c, 0, 1);
      ir::require_type(c, 1, Type::kInt32);
      const Shape& table = c.input(0).shape;
      c.outputs = {{c.input(0).type, joined(c.input(1).shape, table.begin() + 1, table.end())}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs()) c.set(0, c.b.op("scatter_add", {c.x(1), c.g()}, {{"rows", c.shape(c.x()).front()}}));
    });

// Readers that can find the rows themselves do so instead (the pass `read_rows`).
REGISTER_OP("select_rows", "index")
    .Doc(
        "y = the positions of an axis of x that `rows` lists, in its order.\n"
        "  x [..., n, ...], rows [m] in [0, n) -> y [..., m, ...]")
    .Input("x", "[..., n, ...]")
    .Input("rows", "[m] INT32: the positions")
    .Required("axis", AttributeKind::kInt, "the axis")
    .Role(ir::Role::kSelectRows)
    .Access(ir::Access::kRearrange)
    .Output("y")
    .Internal()
    .NoGradient("it is created for inference")
    .Shape([](ir::InferContext& c) {
      ir::require_rank_at_least(c, 0, 1);
      ir::require_type(c, 1, Type::kInt32);
      GRAPHRUN_CHECK(c.input(1).shape.size() == 1, "select_rows: the list must have one axis");
      ir::TensorType y = c.input(0);
      const int axis = ir::resolve_axis(c.attributes->integer("axis"), y.shape.size(), c.op->name);
      y.shape[static_cast<std::size_t>(axis)] = c.input(1).shape[0];
      c.outputs = {std::move(y)};
    });

// Each element of the result sums its values in the order of the indices, for any number of threads, because threads divide the
// columns.
template <class T>
void scatter_add(const std::int32_t* indices, const T* values, T* out, std::int64_t rows, std::int64_t count,
                 std::int64_t width) {
  parallel_for(rows, rows * width,
               [&](std::int64_t begin, std::int64_t end) { std::fill(out + begin * width, out + end * width, T{0}); });
  parallel_for(width, count * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < count; ++i) {
      T* row = out + indices[i] * width;
      const T* value = values + i * width;
      for (std::int64_t k = begin; k < end; ++k) row[k] += value[k];
    }
  });
}

REGISTER_OP("scatter_add", "index")
    .Doc(
        "y[r] = the sum of values[i…] over all i… with indices[i…] = r, in that order; other rows are 0. The gradient of\n"
        "gather.\n"
        "  indices [...] in [0, rows), values [..., …rest] -> y [rows, …rest]\n"
        "  let: \"counts = scatter_add(words, weights, rows=vocabulary)\"")
    .Input("indices", "[...] INT32: the row to which each value is added")
    .Input("values", "[..., …rest] FLOAT or INT32: its first axes are those of indices")
    .Required("rows", AttributeKind::kDim, "the size of the result's first axis")
    .SumsOverLeadingAxes()
    .Output("y")
    .Shape([](ir::InferContext& c) {
      ir::require_type(c, 0, Type::kInt32);
      if (c.input(1).type == Type::kBool) ir::require_type(c, 1, Type::kFloat);
      const Shape &indices = c.input(0).shape, &values = c.input(1).shape;
      if (values.size() < indices.size() || !std::equal(indices.begin(), indices.end(), values.begin())) {
        throw ir::OpError("E0301 shape-mismatch", "scatter_add: values " + str(values) + " do not fit indices " + str(indices),
                          "help: the first axes of values are those of indices");
      }
      const auto rest = values.begin() + static_cast<std::ptrdiff_t>(indices.size());
      c.outputs = {{c.input(1).type, joined({c.attributes->dim("rows")}, rest, values.end())}};
    })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs(1)) c.set(1, c.b.op("gather", {c.g(), c.x()}));
    });
REGISTER_KERNEL("scatter_add", kCpu, [](const KernelRequest& request) {
  const std::int64_t rows = request.outputs[0].sizes.front();
  const std::int64_t count = request.inputs[0].count();
  const std::int64_t width = element_count(Sizes(request.outputs[0].sizes.begin() + 1, request.outputs[0].sizes.end()));
  return with_number(request.inputs[1].dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[=](const KernelContext& c) {
      check_indices(c.inputs[0], rows, "scatter_add: index");
      scatter_add(c.inputs[0].as<std::int32_t>(), c.inputs[1].as<T>(), c.outputs[0].as<T>(), rows, count, width);
    }};
  });
});

}  // namespace
}  // namespace graphrun
