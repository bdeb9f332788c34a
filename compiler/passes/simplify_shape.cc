// Rules on shapes: chains of changes that are one change, changes that change nothing, parts of what was just put together.
#include <numeric>

#include "compiler/passes/simplify_rules.h"

namespace graphrun {
namespace {

using ir::Node;
using ir::ValueId;

// Looking for a member of a longer stack or concatenation would make the walk quadratic in its length.
constexpr std::size_t kMostMembers = 64;

std::size_t axis_of(const Node& n, std::size_t rank) {
  return static_cast<std::size_t>(ir::resolve_axis(n.attributes.integer("axis"), rank, n.op->name));
}

// A position that may be counted from the end: a negative number.
Dim from_start(const Dim& position, const Dim& size) {
  return position.is_constant() && position.constant() < 0 ? size + position : position;
}

bool surely_at_most(const Dim& a, const Dim& b) {
  const Dim difference = b - a;
  return difference.is_constant() && difference.constant() >= 0;
}

// ---- transposes

// The operand's axes in the order of the result; none: the last two change places.
std::vector<std::int64_t> permutation_of(const Node& transpose, std::size_t rank) {
  std::vector<std::int64_t> axes = transpose.attributes.integers("permutation");
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
    if (rank >= 2) std::swap(axes[rank - 1], axes[rank - 2]);
  }
  for (std::int64_t& axis : axes) axis = ir::resolve_axis(axis, rank, "transpose");
  return axes;
}

bool swaps_last_two(const Node& transpose, std::size_t rank) {
  const std::vector<std::int64_t> axes = permutation_of(transpose, rank);
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (axes[i] != static_cast<std::int64_t>(i)) return false;
  }
  return rank >= 2 && axes[rank - 1] == static_cast<std::int64_t>(rank) - 2;
}

bool is_identity(const std::vector<std::int64_t>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

bool transpose_nothing(Match& m) { return is_identity(permutation_of(m.node(), m.result().shape.size())) && m.become(m.in(0)); }

bool transpose_transpose(Match& m) {
  const Node* inner = m.made_by(m.in(0), "transpose");
  if (!inner) return false;
  const std::size_t rank = m.result().shape.size();
  const auto first = permutation_of(*inner, rank);
  auto axes = permutation_of(m.node(), rank);
  for (std::int64_t& axis : axes) axis = first[static_cast<std::size_t>(axis)];
  return is_identity(axes) ? m.become(inner->inputs[0]) : m.become("transpose", {inner->inputs[0]}, {{"permutation", axes}});
}

// ---- matmul

bool matmul_transpose(Match& m) {
  const Attributes& at = m.node().attributes;
  for (std::size_t i = 0; i < 2; ++i) {
    const Node* t = m.made_by(m.in(i), "transpose");
    if (!t || !swaps_last_two(*t, m.type(m.in(i)).shape.size())) continue;
    std::vector<ValueId> factors = {m.in(0), m.in(1)};
    factors[i] = t->inputs[0];
    const bool a = at.boolean("transpose_a") != (i == 0), b = at.boolean("transpose_b") != (i == 1);
    if (m.become("matmul", std::move(factors), {{"transpose_a", a}, {"transpose_b", b}})) return true;
  }
  return false;
}

// ---- reshape, expand, broadcast_to, sum_to

bool to_the_same_shape(Match& m) { return m.become(m.in(0)); }

bool reshape_reshape(Match& m) {
  for (const char* op : {"reshape", "expand"}) {
    const Node* inner = m.made_by(m.in(0), op);
    if (!inner) continue;
    return m.become(inner->inputs[0]) || m.become("reshape", {inner->inputs[0]}, {{"shape", m.result().shape}});
  }
  return false;
}

// broadcast_to of broadcast_to, sum_to of sum_to: the outer shape alone counts.
bool to_the_outer_shape(Match& m) {
  const Node* inner = m.made_by(m.in(0), m.node().op->name);
  if (!inner) return false;
  return m.become(inner->inputs[0]) || m.become(m.node().op->name, {inner->inputs[0]}, {{"shape", m.result().shape}});
}

}  // namespace

bool read_before_broadcast(Match& m) {
  std::vector<ValueId> inputs = m.node().inputs;
  bool any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Node* inner = m.made_by(inputs[i], "broadcast_to");
    if (!inner) continue;
    const auto& all = m.node().attributes.all();
    std::vector<ValueId> fewer = inputs;
    fewer[i] = inner->inputs[0];
    if (m.become(m.node().op->name, fewer, ir::NamedAttributes(all.begin(), all.end()))) inputs = std::move(fewer), any = true;
  }
  return any;
}

namespace {

bool shape_of_zeros(Match& m) {
  return m.is_zeros(m.in(0)) &&
         m.become("zeros", {}, {{"shape", m.result().shape}, {"type", std::string(name_of(m.result().type))}});
}

// ---- parts

// The members that `n`, a stack or concatenation along `axis`, was made of: nothing where it is another axis, or where they are
// many.
const std::vector<ValueId>* members(const Match& m, ValueId v, const char* op, std::size_t axis) {
  const Node* n = m.made_by(v, op);
  if (!n || n->inputs.size() > kMostMembers || axis_of(*n, m.type(v).shape.size()) != axis) return nullptr;
  return &n->inputs;
}

bool slice_all(Match& m) {
  const Shape& x = m.type(m.in(0)).shape;
  const Dim& size = x[axis_of(m.node(), x.size())];
  return from_start(m.node().attributes.dim("begin"), size).is(0) && m.become(m.in(0));
}

// The bounds of a slice, an index or a pad within its operand.
struct Part {
  std::size_t axis;
  Dim begin, end;
};

Part part_of(const Node& n, const Shape& x) {
  const std::size_t axis = axis_of(n, x.size());
  const Dim& size = x[axis];
  if (n.op->name == "index") {
    const Dim at = from_start(n.attributes.dim("at"), size);
    return {axis, at, at + 1};
  }
  if (n.op->name == "pad") return {axis, n.attributes.dim("begin"), n.attributes.dim("begin") + size};
  return {axis, from_start(n.attributes.dim("begin"), size), from_start(n.attributes.dim("end"), size)};
}

// A slice or index of a slice: fires where it surely lies within, so that no check at run time is lost.
bool part_of_slice(Match& m) {
  const Node* inner = m.made_by(m.in(0), "slice");
  if (!inner) return false;
  const Shape& x = m.type(inner->inputs[0]).shape;
  const Part first = part_of(*inner, x), second = part_of(m.node(), m.type(m.in(0)).shape);
  if (first.axis != second.axis || !surely_at_most(0, second.begin) || !surely_at_most(first.begin + second.end, first.end)) {
    return false;
  }
  const Dim begin = first.begin + second.begin;
  const auto axis = static_cast<std::int64_t>(first.axis);
  if (m.node().op->name == "index") return m.become("index", {inner->inputs[0]}, {{"axis", axis}, {"at", begin}});
  return m.become("slice", {inner->inputs[0]}, {{"axis", axis}, {"begin", begin}, {"end", first.begin + second.end}});
}

// A slice of a padding that takes just what was padded.
bool slice_pad(Match& m) {
  const Node* inner = m.made_by(m.in(0), "pad");
  if (!inner) return false;
  const Part padded = part_of(*inner, m.type(inner->inputs[0]).shape), taken = part_of(m.node(), m.type(m.in(0)).shape);
  return padded.axis == taken.axis && padded.begin == taken.begin && padded.end == taken.end && m.become(inner->inputs[0]);
}

bool slice_concat(Match& m) {
  const Part taken = part_of(m.node(), m.type(m.in(0)).shape);
  const auto* xs = members(m, m.in(0), "concat", taken.axis);
  if (!xs) return false;
  Dim at = 0;
  for (ValueId x : *xs) {
    const Dim end = at + m.type(x).shape[taken.axis];
    if (at == taken.begin && end == taken.end) return m.become(x);
    at = end;
  }
  return false;
}

bool index_stack(Match& m) {
  const Part taken = part_of(m.node(), m.type(m.in(0)).shape);
  const Node* n = m.made_by(m.in(0), "stack");
  if (!n || axis_of(*n, m.type(m.in(0)).shape.size()) != taken.axis || !taken.begin.is_constant()) return false;
  const std::int64_t at = taken.begin.constant();
  return at >= 0 && static_cast<std::size_t>(at) < n->inputs.size() && m.become(n->inputs[static_cast<std::size_t>(at)]);
}

bool index_expand(Match& m) {
  const Part taken = part_of(m.node(), m.type(m.in(0)).shape);
  const Node* n = m.made_by(m.in(0), "expand");
  return n && axis_of(*n, m.type(m.in(0)).shape.size()) == taken.axis && m.become(n->inputs[0]);
}

// Gradients have been derived.
bool let_pass(Match& m) { return m.become(m.in(0)); }

bool concat_one(Match& m) { return m.node().inputs.size() == 1 && m.become(m.in(0)); }

// All parts of one split in their order.
bool concat_split(Match& m) {
  const Node* n = m.made_by(m.in(0), "split");
  if (!n || n->outputs != m.node().inputs) return false;
  const std::size_t rank = m.result().shape.size();
  return axis_of(*n, rank) == axis_of(m.node(), rank) && m.become(n->inputs[0]);
}

bool stack_one(Match& m) {
  if (m.node().inputs.size() != 1) return false;
  const auto axis = static_cast<std::int64_t>(axis_of(m.node(), m.result().shape.size()));
  return m.become("expand", {m.in(0)}, {{"axis", axis}});
}

}  // namespace

const RuleTable& shape_rules() {
  static const RuleTable rules = {
      {"transpose", transpose_nothing},
      {"transpose", transpose_transpose},
      {"transpose", shape_of_zeros},
      {"matmul", matmul_transpose},
      {"reshape", to_the_same_shape},
      {"reshape", reshape_reshape},
      {"reshape", shape_of_zeros},
      {"expand", shape_of_zeros},
      {"broadcast_to", to_the_same_shape},
      {"broadcast_to", to_the_outer_shape},
      {"broadcast_to", shape_of_zeros},
      {"sum_to", to_the_same_shape},
      {"sum_to", to_the_outer_shape},
      {"sum_to", shape_of_zeros},
      {"slice", slice_all},
      {"slice", part_of_slice},
      {"slice", slice_pad},
      {"slice", slice_concat},
      {"slice", shape_of_zeros},
      {"pad", to_the_same_shape},
      {"pad", shape_of_zeros},
      {"index", part_of_slice},
      {"index", index_stack},
      {"index", index_expand},
      {"index", shape_of_zeros},
      {"concat", concat_one},
      {"concat", concat_split},
      {"stack", stack_one},
      {"stop_gradient", let_pass},
  };
  return rules;
}

}  // namespace graphrun
