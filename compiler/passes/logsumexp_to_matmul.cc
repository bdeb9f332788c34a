#include "compiler/passes/logsumexp_to_matmul.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;

constexpr double kLeastSum = 1e-37;      // above the least normal float32
constexpr double kLeastMaximum = -1e30;  // finite, so that rows of minus infinity give no NaN

// The terms of a sum, grouped by which of the last two axes they have. One of these axes is reduced ("goes"), the other stays.
struct Terms {
  std::int64_t rank = 0, goes = 0;
  std::vector<ValueId> rows, matrix, outside;  // lacks the axis that stays; has only these two axes; lacks the axis that goes
  std::int64_t stays() const { return goes == rank - 1 ? rank - 2 : rank - 1; }
};

class Matcher {
 public:
  Matcher(const Graph& g, const Node& node) : g_(g), node_(node) {}

  // nullopt if the node is no such logsumexp.
  std::optional<Terms> match() {
    if (!ir::plays(node_, ir::Role::kLogsumexp) || (node_.inputs.size() > 1 && node_.inputs[1] != kNone)) return std::nullopt;
    const auto axes = node_.attributes.integers("axis");
    terms_.rank = static_cast<std::int64_t>(shape(node_.inputs[0]).size());
    if (axes.size() != 1 || terms_.rank < 3) return std::nullopt;
    terms_.goes = axes[0] < 0 ? axes[0] + terms_.rank : axes[0];
    if (terms_.goes < terms_.rank - 2) return std::nullopt;
    if (!collect(node_.inputs[0]) || terms_.rows.empty() || terms_.matrix.empty()) return std::nullopt;
    // The rows must have all leading axes, since the product only has theirs.
    for (std::int64_t axis = 0; axis < terms_.rank - 2; ++axis) {
      const bool had = std::any_of(terms_.rows.begin(), terms_.rows.end(), [&](ValueId v) { return has(v, axis); });
      if (!had && !shape(node_.inputs[0])[static_cast<std::size_t>(axis)].is(1)) return std::nullopt;
    }
    return terms_;
  }

 private:
  const Shape& shape(ValueId v) const { return g_.type(v).shape; }
  // Whether v has this axis of the sum and is not broadcast along it.
  bool has(ValueId v, std::int64_t axis) const {
    const std::int64_t own = axis - (terms_.rank - static_cast<std::int64_t>(shape(v).size()));
    return own >= 0 && !shape(v)[static_cast<std::size_t>(own)].is(1);
  }
  bool has_leading(ValueId v) const {
    for (std::int64_t axis = 0; axis < terms_.rank - 2; ++axis) {
      if (has(v, axis)) return true;
    }
    return false;
  }

  bool collect(ValueId v) {
    const bool goes = has(v, terms_.goes), stays = has(v, terms_.stays());
    if (!goes) {
      terms_.outside.push_back(v);
    } else if (!stays) {
      terms_.rows.push_back(v);
    } else if (!has_leading(v)) {
      terms_.matrix.push_back(v);
    } else {
      const Node* sum = ir::made_by(g_, v, ir::Role::kAdd);
      return sum && collect(sum->inputs[0]) && collect(sum->inputs[1]);
    }
    return true;
  }

  const Graph& g_;
  const Node& node_;
  Terms terms_;
};

// Builds the product that replaces a logsumexp.
class Product {
 public:
  Product(Rebuild& rebuild, const Terms& terms) : r_(rebuild), b_(rebuild.builder()), terms_(terms) {}

  ValueId build(const Node& node) {
    b_.set_location(node.at);
    b_.set_name(b_.graph().value(node.outputs[0]).name);
    const ir::TensorType expected = b_.graph().type(node.outputs[0]);
    const ValueId x = sum_without(terms_.rows, terms_.stays());
    ValueId matrix = kNone;
    for (ValueId v : terms_.matrix) matrix = plus(matrix, matrix_of(r_.of(v)));
    const std::int64_t inner = terms_.goes - (terms_.rank - 2);
    const ValueId m = whole_maximum(x, -1), c = whole_maximum(matrix, inner);
    const ValueId sums = b_.op("matmul", {b_.op("exp", {b_.op("sub", {x, m})}), b_.op("exp", {b_.op("sub", {matrix, c})})},
                               {{"transpose_b", inner == 1}, {"precision", std::string("FLOAT32")}});
    const ValueId safe = b_.op("maximum", {sums, b_.constant(kLeastSum)});
    const Dim columns = b_.graph().type(matrix).shape[inner == 0 ? 1 : 0];
    ValueId y = b_.op("add", {b_.op("add", {b_.op("log", {safe}), reshape(c, {columns})}), m});
    for (ValueId v : terms_.outside) y = plus(y, without(r_.of(v), terms_.goes));
    return b_.graph().type(y).shape == expected.shape ? y : reshape(y, expected.shape);
  }

 private:
  ValueId plus(ValueId sum, ValueId v) { return sum == kNone ? v : b_.op("add", {sum, v}); }
  ValueId reshape(ValueId v, const Shape& shape) { return b_.op("reshape", {v}, {{"shape", shape}}); }

  // v without this axis of the sum, which has size 1 in v or is missing.
  ValueId without(ValueId v, std::int64_t axis) {
    Shape shape = b_.graph().type(v).shape;
    const std::int64_t own = axis - (terms_.rank - static_cast<std::int64_t>(shape.size()));
    if (own < 0) return v;
    shape.erase(shape.begin() + own);
    return reshape(v, shape);
  }
  ValueId sum_without(const std::vector<ValueId>& terms, std::int64_t axis) {
    ValueId sum = kNone;
    for (ValueId v : terms) sum = plus(sum, without(r_.of(v), axis));
    return sum;
  }
  ValueId matrix_of(ValueId v) {
    Shape shape = b_.graph().type(v).shape;
    if (shape.size() == 2) return v;
    shape.erase(shape.begin(), shape.end() - 2);
    return reshape(v, shape);
  }
  // A whole number near the maximum over an axis, which is kept with size 1.
  ValueId whole_maximum(ValueId v, std::int64_t axis) {
    const ValueId most = b_.op("max", {v}, {{"axis", std::vector<std::int64_t>{axis}}, {"keep", true}});
    return b_.op("maximum", {b_.op("floor", {most}), b_.constant(kLeastMaximum)});
  }

  Rebuild& r_;
  ir::Builder& b_;
  const Terms& terms_;
};

bool factor_in(Graph& g) {
  std::map<std::size_t, Terms> found;
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (auto terms = Matcher(g, g.nodes[n]).match()) found.emplace(n, *std::move(terms));
  }
  if (found.empty()) return false;
  Rebuild rebuild(g);
  for (std::size_t n = 0; n < rebuild.old_nodes().size(); ++n) {
    Node& node = rebuild.old_nodes()[n];
    const auto it = found.find(n);
    if (it == found.end()) {
      rebuild.keep(std::move(node));
    } else {
      rebuild.replace(node.outputs[0], Product(rebuild, it->second).build(node));
    }
  }
  rebuild.finish();
  return true;
}

}  // namespace

PassResult logsumexp_to_matmul(Graph graph) {
  const bool changed = rewrite_inner_first(graph, [](Graph& g, const Node*) { return factor_in(g); });
  return {std::move(graph), changed};
}

}  // namespace graphrun
