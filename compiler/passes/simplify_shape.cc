// Shape rules: chains of shape changes become one, changes to the same shape disappear, and a part of a concatenation becomes
// the operand that it selects.
#include <numeric>

#include "compiler/passes/simplify_rules.h"

namespace graphrun {
namespace {

using ir::Node;
using ir::Role;
using ir::ValueId;
using ir::Window;

// Longer stacks and concatenations are not searched, since the walk would be quadratic in their length.
constexpr std::size_t kMostMembers = 64;

std::size_t axis_of(const Node& n, std::size_t rank) {
  return static_cast<std::size_t>(ir::resolve_axis(n.attributes.integer("axis"), rank, n.op->name));
}

bool surely_at_most(const Dim& a, const Dim& b) {
  const Dim difference = b - a;
  return difference.is_constant() && difference.constant() >= 0;
}

// ---- transposes

// The operand's axes in the order of the result; without the attribute, the last two are exchanged.
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
  const Node* inner = m.made_by(m.in(0), Role::kTranspose);
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
    const Node* t = m.made_by(m.in(i), Role::kTranspose);
    if (!t || !swaps_last_two(*t, m.type(m.in(i)).shape.size())) continue;
    std::vector<ValueId> factors = {m.in(0), m.in(1)};
    factors[i] = t->inputs[0];
    const bool a = at.boolean("transpose_a") != (i == 0), b = at.boolean("transpose_b") != (i == 1);
    if (m.become("matmul", std::move(factors), {{"transpose_a", a}, {"transpose_b", b}, {"precision", at.string("precision")}}))
      return true;
  }
  return false;
}

// ---- reshape, expand, broadcast_to, sum_to

bool to_the_same_shape(Match& m) { return m.become(m.in(0)); }

bool reshape_reshape(Match& m) {
  const Node* inner = m.producer(m.in(0));
  if (!inner || !inner->op->view) return false;
  return m.become(inner->inputs[0]) || m.keep_op({inner->inputs[0]}, {{"shape", m.result().shape}});
}

// broadcast_to of broadcast_to, sum_to of sum_to: only the outer shape matters.
bool to_the_outer_shape(Match& m) {
  const Node* inner = m.made_by_same(m.in(0));
  if (!inner) return false;
  return m.become(inner->inputs[0]) || m.keep_op({inner->inputs[0]}, {{"shape", m.result().shape}});
}

}  // namespace

bool read_before_broadcast(Match& m) {
  std::vector<ValueId> inputs = m.node().inputs;
  bool any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Node* inner = m.made_by(inputs[i], Role::kBroadcast);
    if (!inner) continue;
    const auto& all = m.node().attributes.all();
    std::vector<ValueId> fewer = inputs;
    fewer[i] = inner->inputs[0];
    if (m.keep_op(fewer, ir::NamedAttributes(all.begin(), all.end()))) inputs = std::move(fewer), any = true;
  }
  return any;
}

namespace {

bool shape_of_zeros(Match& m) {
  return m.is_zeros(m.in(0)) &&
         m.become("zeros", {}, {{"shape", m.result().shape}, {"type", std::string(name_of(m.result().type))}});
}

// ---- parts

// The operands of v, if it is a stack or concatenation along `axis` without too many operands; otherwise null.
const std::vector<ValueId>* members(const Match& m, ValueId v, Role role, std::size_t axis) {
  const Node* n = m.made_by(v, role);
  if (!n || n->inputs.size() > kMostMembers || axis_of(*n, m.type(v).shape.size()) != axis) return nullptr;
  return &n->inputs;
}

// The range that a slice or an index selects, or into which a pad puts its operand.
Window window_of(const Match& m, const Node& n) { return n.op->window(n.attributes, m.type(n.inputs[0]).shape); }

bool slice_all(Match& m) { return window_of(m, m.node()).begin.is(0) && m.become(m.in(0)); }

// A slice or index of a slice. Applies only if the range is certain to be valid, so that no run-time check is lost.
bool part_of_slice(Match& m) {
  const Node* inner = m.made_by(m.in(0), Role::kSlice);
  if (!inner) return false;
  const Window first = window_of(m, *inner), second = window_of(m, m.node());
  if (first.axis != second.axis || !surely_at_most(0, second.begin) || !surely_at_most(first.begin + second.end, first.end)) {
    return false;
  }
  const Dim begin = first.begin + second.begin;
  const auto axis = static_cast<std::int64_t>(first.axis);
  if (ir::plays(m.node(), Role::kIndex)) return m.keep_op({inner->inputs[0]}, {{"axis", axis}, {"at", begin}});
  return m.keep_op({inner->inputs[0]}, {{"axis", axis}, {"begin", begin}, {"end", first.begin + second.end}});
}

// A slice of a pad that selects exactly its operand.
bool slice_pad(Match& m) {
  const Node* inner = m.made_by(m.in(0), Role::kPad);
  if (!inner) return false;
  const Window padded = window_of(m, *inner), taken = window_of(m, m.node());
  return padded.axis == taken.axis && padded.begin == taken.begin && padded.end == taken.end && m.become(inner->inputs[0]);
}

bool slice_concat(Match& m) {
  const Window taken = window_of(m, m.node());
  const auto* xs = members(m, m.in(0), Role::kConcat, taken.axis);
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
  const Window taken = window_of(m, m.node());
  const Node* n = m.made_by(m.in(0), Role::kStack);
  if (!n || axis_of(*n, m.type(m.in(0)).shape.size()) != taken.axis || !taken.begin.is_constant()) return false;
  const std::int64_t at = taken.begin.constant();
  return at >= 0 && static_cast<std::size_t>(at) < n->inputs.size() && m.become(n->inputs[static_cast<std::size_t>(at)]);
}

bool index_expand(Match& m) {
  const Window taken = window_of(m, m.node());
  const Node* n = m.made_by(m.in(0), Role::kExpand);
  return n && axis_of(*n, m.type(m.in(0)).shape.size()) == taken.axis && m.become(n->inputs[0]);
}

// stop_gradient has no effect once gradients are derived.
bool let_pass(Match& m) { return m.become(m.in(0)); }

bool concat_one(Match& m) { return m.node().inputs.size() == 1 && m.become(m.in(0)); }

// A concatenation of all parts of one split, in order.
bool concat_split(Match& m) {
  const Node* n = m.made_by(m.in(0), Role::kSplit);
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
      {Role::kTranspose, transpose_nothing},
      {Role::kTranspose, transpose_transpose},
      {Role::kTranspose, shape_of_zeros},
      {Role::kMatmul, matmul_transpose},
      {Role::kReshape, to_the_same_shape},
      {Role::kReshape, reshape_reshape},
      {Role::kReshape, shape_of_zeros},
      {Role::kExpand, shape_of_zeros},
      {Role::kBroadcast, to_the_same_shape},
      {Role::kBroadcast, to_the_outer_shape},
      {Role::kBroadcast, shape_of_zeros},
      {Role::kSumTo, to_the_same_shape},
      {Role::kSumTo, to_the_outer_shape},
      {Role::kSumTo, shape_of_zeros},
      {Role::kSlice, slice_all},
      {Role::kSlice, part_of_slice},
      {Role::kSlice, slice_pad},
      {Role::kSlice, slice_concat},
      {Role::kSlice, shape_of_zeros},
      {Role::kPad, to_the_same_shape},
      {Role::kPad, shape_of_zeros},
      {Role::kIndex, part_of_slice},
      {Role::kIndex, index_stack},
      {Role::kIndex, index_expand},
      {Role::kIndex, shape_of_zeros},
      {Role::kConcat, concat_one},
      {Role::kConcat, concat_split},
      {Role::kStack, stack_one},
      {Role::kStopGradient, let_pass},
  };
  return rules;
}

}  // namespace graphrun
