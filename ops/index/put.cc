// put: replaces one row of a buffer.
#include <cstdint>
#include <cstring>

#include "ops/axis.h"
#include "ops/indices.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

REGISTER_OP("put", "index")
    .Doc(
        "y = buffer with row i replaced. If nothing else reads the buffer, it is changed in place.\n"
        "  buffer [n, ...], row [...], i [] in [0, n) -> y [n, ...]\n"
        "  let: \"cache = put(before, keys, step())\"")
    .Input("buffer", "[n, ...]")
    .Input("row", "[...]: the new row, of buffer's type and of its shape without the first axis")
    .Input("i", "[] INT32: the row to replace")
    .Role(ir::Role::kPut)
    .Output("y")
    .InPlace(0, 0)
    .Shape([](ir::InferContext& c) {
      ir::require_rank_at_least(c, 0, 1);
      ir::require_type(c, 1, c.input(0).type);
      ir::require_type(c, 2, Type::kInt32);
      const Shape& buffer = c.input(0).shape;
      const Shape row(buffer.begin() + 1, buffer.end());
      if (c.input(1).shape != row) {
        throw ir::OpError("E0301 shape-mismatch", "put: row " + str(c.input(1).shape) + " does not fit buffer " + str(buffer),
                          "help: a row of the buffer is " + str(row));
      }
      if (!c.input(2).shape.empty()) {
        throw ir::OpError("E0304 wrong-rank", "put: i must be a scalar, found " + c.input(2).str());
      }
      c.outputs = {c.input(0)};
    })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs(0)) c.set(0, c.b.op("put", {c.g(), c.b.zeros(c.type(c.x(1))), c.x(2)}));
      if (c.needs(1)) c.set(1, c.b.op("gather", {c.g(), c.x(2)}));
    });
REGISTER_KERNEL("put", kCpu, [](const KernelRequest& request) {
  const std::int64_t rows = request.inputs[0].sizes.front();
  const std::size_t row_bytes = request.inputs[1].bytes();
  return Kernel{[=](const KernelContext& c) {
    check_indices(c.inputs[2], rows, "put: row");
    char* out = c.outputs[0].as<char>();
    const std::size_t bytes = static_cast<std::size_t>(rows) * row_bytes;
    if (bytes == 0) return;
    if (out != c.inputs[0].as<char>()) std::memcpy(out, c.inputs[0].data, bytes);
    std::memcpy(out + static_cast<std::size_t>(*c.inputs[2].as<std::int32_t>()) * row_bytes, c.inputs[1].data, row_bytes);
  }};
});

}  // namespace
}  // namespace graphrun
