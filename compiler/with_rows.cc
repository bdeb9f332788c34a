#include "compiler/with_rows.h"

namespace graphrun {

ir::ValueId with_rows(ir::Builder& b, ir::ValueId value, std::size_t axis, ir::ValueId rows) {
  if (axis == 0) return b.op("gather", {value, rows});
  Shape shape = b.graph().type(value).shape;
  const Shape outer(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const Dim blocks = element_count(outer), from = shape[axis];
  Shape flat = {blocks * from};
  flat.insert(flat.end(), shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end());
  const ir::ValueId places = b.equation("expand(block, axis=-1) * from + rows",
                                        {{"block", b.op("range", {}, {{"n", blocks}})}, {"from", b.dim(from)}, {"rows", rows}});
  const ir::ValueId moved = b.op("gather", {b.op("reshape", {value}, {{"shape", flat}}), places});
  shape[axis] = b.graph().type(rows).shape[0];
  return b.op("reshape", {moved}, {{"shape", shape}});
}

}  // namespace graphrun
