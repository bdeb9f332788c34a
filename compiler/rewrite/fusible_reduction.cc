#include "compiler/rewrite/fusible_reduction.h"

#include <algorithm>

#include "compiler/ir/op.h"

namespace graphrun {
namespace {

// The axes that summing x to `shape` removes or reduces to 1; nullopt if they are not adjacent.
std::optional<ReducedAxes> summed_axes(const Shape& x, const Shape& shape) {
  const auto added = static_cast<std::int64_t>(x.size() - shape.size());
  std::optional<ReducedAxes> axes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
    const bool goes = i < added || shape[static_cast<std::size_t>(i - added)] != x[static_cast<std::size_t>(i)];
    if (!goes) continue;
    if (axes && axes->last != i) return std::nullopt;
    axes = axes ? ReducedAxes{axes->first, i + 1} : ReducedAxes{i, i + 1};
  }
  return axes;
}

std::optional<ReducedAxes> given_axes(const ir::Node& node, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  const Attribute& given = node.attributes.all().find("axis")->second;
  std::vector<std::int64_t> axes;
  if (const auto* one = std::get_if<std::int64_t>(&given)) {
    axes = {*one};
  } else {
    axes = std::get<std::vector<std::int64_t>>(given);
  }
  if (axes.empty()) return r == 0 ? std::nullopt : std::optional<ReducedAxes>(ReducedAxes{0, r});
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis + r : axis;
  const auto [least, most] = std::minmax_element(axes.begin(), axes.end());
  return ReducedAxes{*least, *most + 1};
}

}  // namespace

std::optional<FusibleReduction> fusible_reduction(const ir::Graph& graph, const ir::Node& node) {
  if (!node.op->fold) return std::nullopt;
  if (node.inputs.size() > 1 && node.inputs[1] != ir::kNone) return std::nullopt;  // lengths
  const ir::TensorType& x = graph.type(node.inputs[0]);
  if (x.type != Type::kFloat) return std::nullopt;
  const std::optional<ReducedAxes> axes = ir::plays(node, ir::Role::kSumTo)
                                              ? summed_axes(x.shape, node.attributes.shape("shape"))
                                              : given_axes(node, x.shape.size());
  if (!axes) return std::nullopt;
  return FusibleReduction{*node.op->fold, *axes};
}

}  // namespace graphrun
