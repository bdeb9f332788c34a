#include "compiler/frontend/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/ir/op.h"

namespace graphrun::frontend {
namespace {

using ir::Access;
using ir::Node;
using ir::Number;
using ir::Role;
using ir::ValueId;

// The operand of the attribute `axis`, by name or by position behind the inputs; null if it is absent.
const ir::Operand* axis_operand(const ir::OpSchema& op, const ir::AttributeSpec& axis, const std::vector<ir::Operand>& operands,
                                const ir::NamedOperands& named) {
  const auto by_name = std::find_if(named.begin(), named.end(), [](const auto& n) { return n.first == "axis"; });
  const auto at = op.inputs.size() + static_cast<std::size_t>(&axis - op.attributes.data());
  if (by_name != named.end()) return &by_name->second;
  return !op.variadic() && at < operands.size() ? &operands[at] : nullptr;
}

// The axes of a tensor of this rank that an op runs along; none if the operand is not a number of an axis or a list of them,
// which ir::apply reports.
std::vector<std::size_t> axes_along(const ir::AttributeSpec& axis, const ir::Operand* operand, std::size_t rank) {
  std::vector<std::int64_t> given;
  if (operand == nullptr) {
    if (!axis.default_value) return {};
    if (const auto* one = std::get_if<std::int64_t>(&*axis.default_value)) given = {*one};
    if (const auto* several = std::get_if<std::vector<std::int64_t>>(&*axis.default_value)) given = *several;
  } else if (const Number* one = std::get_if<Number>(operand)) {
    const auto most = static_cast<double>(rank);
    if (!(one->value >= -most && one->value < most) || one->value != std::floor(one->value)) return {};
    given = {static_cast<std::int64_t>(one->value)};
  } else if (const auto* several = std::get_if<std::vector<Dim>>(operand)) {
    for (const Dim& d : *several) {
      if (!d.is_constant()) return {};
      given.push_back(d.constant());
    }
  } else {
    return {};
  }
  std::vector<std::size_t> axes;
  const auto count = static_cast<std::int64_t>(rank);
  for (const std::int64_t a : given) {
    if (a < -count || a >= count) return {};
    axes.push_back(static_cast<std::size_t>(a < 0 ? a + count : a));
  }
  if (!given.empty()) return axes;
  for (std::size_t a = 0; a < rank; ++a) axes.push_back(a);  // an empty list means all
  return axes;
}

std::ptrdiff_t axes_of_size(const Shape& shape, const Dim& size) { return std::count(shape.begin(), shape.end(), size); }

// Whether the node runs along an axis of this size, up to its `lengths`.
bool stops_along(const Region& region, const Node& node, const Dim& size) {
  const int lengths = node.op->input_index("lengths");
  if (lengths < 0 || node.inputs[static_cast<std::size_t>(lengths)] == ir::kNone || !node.attributes.has("axis")) return false;
  const Shape& shape = region.type(node.inputs[0]).shape;
  const auto is_along = [&](std::int64_t a) {
    return shape.at(static_cast<std::size_t>(a < 0 ? a + static_cast<std::int64_t>(shape.size()) : a)) == size;
  };
  const Attribute& axis = node.attributes.all().find("axis")->second;
  if (const auto* one = std::get_if<std::int64_t>(&axis)) return is_along(*one);
  const auto* several = std::get_if<std::vector<std::int64_t>>(&axis);
  return several != nullptr && std::any_of(several->begin(), several->end(), is_along);
}

// Whether an op with `lengths` runs along the last of so many axes.
bool stops_along_last(const Node& node, std::size_t rank) {
  const Attribute& axis = node.attributes.all().find("axis")->second;
  const auto* const one = std::get_if<std::int64_t>(&axis);
  return one != nullptr && (*one == -1 || *one == static_cast<std::int64_t>(rank) - 1);
}

// Whether the node reads those positions of `x` that another operand names, as pick does.
bool names_positions(const Region& region, const Node& node, ValueId x) {
  return node.inputs.size() == 2 && node.inputs[0] == x && region.type(node.inputs[1]).type == Type::kInt32;
}

// Whether `v`, which has an axis of this size, is zero, or false, in later steps than the current one. If it has two such axes:
// along the last.
bool is_zero_later(const Region& region, ValueId v, const Dim& size) {
  const auto is_zero = [&](ValueId x) {
    return axes_of_size(region.type(x).shape, size) > 0 ? is_zero_later(region, x, size) : ir::is_zeros(region.graph, x);
  };
  const Node* const node = ir::producer(region.graph, v);
  if (node == nullptr) {
    const auto captured = std::find(region.captured.begin(), region.captured.end(), v);
    if (captured == region.captured.end()) return false;
    const auto k = static_cast<std::size_t>(captured - region.captured.begin());
    return is_zero_later(*region.parent, region.captured_operands[k], size);
  }
  const std::vector<ValueId>& x = node->inputs;
  const auto all_zero = [&] { return std::all_of(x.begin(), x.end(), is_zero); };
  const Shape& shape = region.type(v).shape;
  const bool several = axes_of_size(shape, size) > 1;
  if (stops_along(region, *node, size)) return !several || stops_along_last(*node, shape.size());
  if (!node->regions.empty()) return !several && shape[0] == size;  // what a scan over the history gives for each step
  switch (node->op->role) {
    case Role::kMultiply: return is_zero(x[0]) || is_zero(x[1]);
    case Role::kAdd:
    case Role::kSubtract: return all_zero();
    case Role::kSelect: return (is_zero(x[0]) || is_zero(x[1])) && is_zero(x[2]);
    case Role::kCast:
    case Role::kDraw: return is_zero(x[0]);
    default: break;
  }
  if (node->op->access == Access::kRearrange) return !several && all_zero();
  if (node->op->access == Access::kProduct) return !several && std::any_of(x.begin(), x.end(), is_zero);
  if (node->op->algebra.idempotent && x.size() == 2) return all_zero();  // minimum, maximum, and, or
  return node->op->algebra.zero && is_zero(x[0]);
}

// Whether a reshape leaves each position of an axis of this size where it is: whether as many elements come before it.
bool keeps_positions(const Shape& from, const Shape& to, const Dim& size) {
  const auto before = [&](const Shape& shape) {
    return element_count(Shape(shape.begin(), std::find(shape.begin(), shape.end(), size)));
  };
  return before(from) == before(to);
}

// Whether the results at some step depend on a later one by way of operand `x`, which has an axis of this size.
bool reads_ahead(const Region& region, const Node& node, ValueId x, const Dim& size) {
  const Shape& shape = region.type(x).shape;
  const bool keeps = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId y) {
    return axes_of_size(region.type(y).shape, size) >= axes_of_size(shape, size);
  });
  if (stops_along(region, node, size) || !node.regions.empty()) return false;  // as stop_at_present and the scan made it
  switch (node.op->access) {
    case Access::kLookup: return false;  // reads the positions that the graph names
    case Access::kOther:
      if (names_positions(region, node, x)) return false;
      break;
    case Access::kProduct: {
      const auto is_zero = [&](std::size_t k) {
        const std::ptrdiff_t axes = axes_of_size(region.type(node.inputs[k]).shape, size);
        return (axes == 1 || (axes > 1 && k == 0)) && is_zero_later(region, node.inputs[k], size);
      };
      return !keeps && !is_zero(0) && !is_zero(1);
    }
    case Access::kReduction:
      if (keeps && !node.attributes.has("axis")) return shape.back() == size;  // along the last axis
      break;
    default: break;
  }
  if (node.op->window && !keeps) {
    const ir::Window part = node.op->window(node.attributes, shape);
    return !(part.end.is_constant() && part.end.constant() == 1);  // the first step always exists
  }
  if (ir::plays(node, Role::kReshape) && keeps) return !keeps_positions(shape, region.type(node.outputs[0]).shape, size);
  return !keeps;
}

}  // namespace

Region* with_history(Region& region, const Dim& size) {
  const auto symbol = size.as_symbol();
  for (Region* r = symbol ? &region : nullptr; r; r = r->parent) {
    if (r->history == symbol) return r;
  }
  return nullptr;
}

ir::ValueId steps_so_far(Region& region, Region& around) {
  return region.builder.op("add", {region.use({&around, around.step}), region.builder.constant(1, Type::kInt32)});
}

void stop_at_present(const ir::OpSchema& op, std::vector<ir::Operand>& operands, ir::NamedOperands& named, Region& region,
                     const Location& at) {
  const int lengths = op.input_index("lengths");
  const ir::AttributeSpec* const axis = op.attribute("axis");
  if (lengths < 0 || !axis || operands.empty() || !std::holds_alternative<ir::ValueId>(operands[0])) return;
  const Shape& shape = region.type(std::get<ir::ValueId>(operands[0])).shape;
  const ir::Operand* const given_axis = axis_operand(op, *axis, operands, named);
  const std::vector<std::size_t> axes = axes_along(*axis, given_axis, shape.size());
  Region* around = nullptr;
  std::size_t of_history = 0;
  for (const std::size_t a : axes) {
    if (Region* const found = around ? nullptr : with_history(region, shape[a])) around = found, of_history = a;
  }
  if (!around) return;
  if (axes.size() > 1) {
    fail("E0305 wrong-operands", at,
         fmt::format("{} reduces axis {}, that of a history, together with others, but a history ends at the present", op.name,
                     of_history),
         {fmt::format("help: reduce that axis first, {}(…, axis={}), then the others", op.name, of_history)});
  }
  if (given_axis == nullptr) {  // lengths need an axis that is named
    named.emplace_back("axis", Number{Number::Kind::kInt, static_cast<double>(of_history)});
  }
  const ir::ValueId steps = steps_so_far(region, *around);
  const auto stop = [&](ir::Operand& given) {
    if (const Dim* size = std::get_if<Dim>(&given)) given = region.builder.dim(*size);
    if (const ir::ValueId* value = std::get_if<ir::ValueId>(&given)) given = region.builder.op("minimum", {*value, steps});
  };
  if (operands.size() > static_cast<std::size_t>(lengths)) return stop(operands[static_cast<std::size_t>(lengths)]);
  const auto operand = std::find_if(named.begin(), named.end(), [](const auto& n) { return n.first == "lengths"; });
  if (operand != named.end()) return stop(operand->second);
  named.emplace_back("lengths", steps);
}

void check_present(Region& region, std::size_t first, const Location& at) {
  for (std::size_t n = first; n < region.graph.nodes.size(); ++n) {
    const Node& node = region.graph.nodes[n];
    for (const ValueId x : node.inputs) {
      if (x == ir::kNone) continue;
      for (const Dim& size : region.type(x).shape) {
        if (with_history(region, size) == nullptr || !reads_ahead(region, node, x, size)) continue;
        fail("E0252 beyond-present", at,
             fmt::format("{} of {} reads later steps: axis {} is that of a history, which ends at the current step",
                         node.op->name, region.type(x).str(), size.str()),
             {"help: softmax, sum, mean, max and all other ops that take `lengths` stop at the current step; gather(h, i) and "
              "pick(x, i) read the steps i; a product may sum over the steps if one operand is a softmax along them, or "
              "mask(x, lengths=step() + 1, axis=…)"});
      }
    }
  }
}

}  // namespace graphrun::frontend
