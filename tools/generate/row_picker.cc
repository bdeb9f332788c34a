#include "tools/generate/row_picker.h"

#include <algorithm>
#include <string>

#include "tools/generate/settings.h"

namespace graphrun {
namespace {

using ir::ValueId;

constexpr const char* kRows = "rows";

// An input for each of `what` that has rows, by its number, and an output of that name.
ir::Graph picking(const std::vector<GenerationGraphs::Carried>& what) {
  ir::Graph graph;
  graph.name = kRows;
  ir::Builder b(graph);
  const ValueId rows = b.input(kRows, {Type::kInt32, {Dim(Symbol::named("picked.rows"))}});
  for (std::size_t k = 0; k < what.size(); ++k) {
    if (what[k].row_axis < 0) continue;
    const ValueId value = b.input(std::to_string(k), what[k].type);
    b.set_name("picked");
    graph.outputs.push_back({std::to_string(k), with_rows(b, value, static_cast<std::size_t>(what[k].row_axis), rows)});
  }
  return graph;
}

}  // namespace

// What stands behind the axis is moved in one piece.
ir::ValueId with_rows(ir::Builder& b, ir::ValueId value, std::size_t axis, ir::ValueId rows) {
  if (axis == 0) return b.op("gather", {value, rows});
  Shape shape = b.graph().type(value).shape;
  const Shape outer(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const Dim blocks = element_count(outer), from = shape[axis];
  Shape flat = {blocks * from};
  flat.insert(flat.end(), shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end());
  const ValueId places = b.equation("expand(block, axis=-1) * from + rows",
                                    {{"block", b.op("range", {}, {{"n", blocks}})}, {"from", b.dim(from)}, {"rows", rows}});
  const ValueId moved = b.op("gather", {b.op("reshape", {value}, {{"shape", flat}}), places});
  shape[axis] = b.graph().type(rows).shape[0];
  return b.op("reshape", {moved}, {{"shape", shape}});
}

RowPicker::RowPicker(const std::vector<GenerationGraphs::Carried>& what, Device device) {
  for (const GenerationGraphs::Carried& c : what) row_axes_.push_back(c.row_axis);
  if (std::all_of(row_axes_.begin(), row_axes_.end(), [](int axis) { return axis < 0; })) return;
  executable_ = std::make_unique<Executable>(compile(picking(what), in_float32()), std::make_shared<Variables>(), device);
}

std::vector<Tensor> RowPicker::pick(const std::vector<Tensor>& values, const std::vector<std::int64_t>& rows) {
  std::vector<Tensor> all = values;
  if (!executable_) return all;
  Tensor list(DType::kInt32, {static_cast<std::int64_t>(rows.size())});
  std::copy(rows.begin(), rows.end(), list.data<std::int32_t>());
  Feeds feeds = {{kRows, list}};
  for (std::size_t k = 0; k < values.size(); ++k)
    if (row_axes_[k] >= 0) feeds[std::to_string(k)] = values[k];
  const std::vector<Tensor> picked = executable_->run(feeds, left_on_device());
  for (std::size_t k = 0, next = 0; k < all.size(); ++k)
    if (row_axes_[k] >= 0) all[k] = picked.at(next++);
  return all;
}

}  // namespace graphrun
