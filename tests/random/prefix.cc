#include "tests/random/prefix.h"

#include <algorithm>
#include <optional>
#include <string>

#include "compiler/ir/op.h"

namespace graphrun::random_graphs {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;
using Index = std::size_t;
using Marks = std::vector<bool>;  // by value

constexpr std::int64_t kShortest = 3;  // the number of positions that always exist

class Prefix {
 public:
  Prefix(const Graph& root, Symbol size, bool apart) : apart_(apart) {
    // Histories have their own sizes, which grow with it.
    sizes_.insert(size);
    for (const auto& [symbol, dim] : root.defined_symbols)
      if (mentions(dim)) sizes_.insert(symbol);
  }

  Marks of_root(const Graph& graph, const std::set<ValueId>& lengths) {
    Marks state(graph.values.size(), true);
    for (;;) {
      Marks same(graph.values.size(), false), bounded(graph.values.size(), false);
      for (const ir::Input& input : graph.inputs) same[index(input.value)] = is_plain(graph.type(input.value).shape);
      for (const ValueId v : lengths) bounded[index(v)] = true;
      for (const ir::Variable& v : graph.variables)
        same[index(v.value)] = state[index(v.value)] && is_plain(graph.type(v.value).shape);
      for (const Node& node : graph.nodes) walk(graph, node, same, bounded);
      // The value of a state is its next value in the previous run.
      bool changed = false;
      for (const ir::Variable& v : graph.variables) {
        if (v.next == kNone || same[index(v.next)] || !state[index(v.value)]) continue;
        state[index(v.value)] = false, changed = true;
      }
      if (!changed) return same;
    }
  }

 private:
  static Index index(ValueId v) { return static_cast<Index>(v); }

  bool mentions(const Dim& dim) const {
    const std::vector<Symbol> all = dim.symbols();
    return std::any_of(all.begin(), all.end(), [&](Symbol s) { return sizes_.count(s) != 0; });
  }
  bool mentions(const Shape& shape) const {
    return std::any_of(shape.begin(), shape.end(), [&](const Dim& d) { return mentions(d); });
  }
  bool mentions(const Attributes& attributes) const {
    return std::any_of(attributes.all().begin(), attributes.all().end(), [&](const auto& named) {
      const Dim* dim = std::get_if<Dim>(&named.second);
      const Shape* shape = std::get_if<Shape>(&named.second);
      return (dim && mentions(*dim)) || (shape && mentions(*shape));
    });
  }

  // The only axis that has exactly this size; nothing if there is none. `plain`: set to false if another size contains it.
  std::optional<Index> axis_of(const Shape& shape, bool& plain) const {
    std::optional<Index> found;
    for (Index k = 0; k < shape.size(); ++k) {
      if (!mentions(shape[k])) continue;
      if (found || !shape[k].as_symbol()) plain = false;
      found = k;
    }
    return found;
  }

  bool is_plain(const Shape& shape) const {
    bool plain = true;
    axis_of(shape, plain);
    return plain;
  }

  void walk(const Graph& graph, const Node& node, Marks& same, Marks& bounded) {
    if (ir::is_scan(node)) return walk_scan(graph, node, same, bounded);
    bool all = true, all_bounded = true;
    for (const ValueId v : node.inputs) {
      if (v == kNone) continue;
      all = all && same[index(v)];
      all_bounded = all_bounded && bounded[index(v)];
    }
    const bool holds = all && keeps(graph, node, bounded);
    // Lengths that are only rearranged.
    const bool lengths = all_bounded && node.op->family == "shape" && !node.inputs.empty();
    for (const ValueId v : node.outputs) same[index(v)] = holds, bounded[index(v)] = lengths;
  }

  // Whether a node's results are the same at their first positions if its operands are.
  bool keeps(const Graph& graph, const Node& node, const Marks& bounded) const {
    const std::string& name = node.op->name;
    bool touched = mentions(node.attributes), plain = true;
    std::vector<std::optional<Index>> in, out;
    for (const ValueId v : node.inputs) in.push_back(v == kNone ? std::nullopt : axis_of(graph.type(v).shape, plain));
    for (const ValueId v : node.outputs) out.push_back(axis_of(graph.type(v).shape, plain));
    for (const auto& axis : in) touched = touched || axis;
    for (const auto& axis : out) touched = touched || axis;
    if (!touched) return true;
    if (!plain) return false;
    if (node.op->family == "pointwise") return true;
    if (name == "zeros" || name == "full" || name == "broadcast_to") return true;
    if (name == "range") return node.attributes.dim("n").as_symbol().has_value();
    // Draws depend on the position, which only the sizes of preceding axes may affect.
    if (name == "dropout" || name == "dropout_mask") return in[0] == Index{0};
    if (name == "stop_gradient" || name == "transpose" || name == "expand" || name == "stack") return true;
    if (name == "reshape") return in[0] == Index{0} && out[0] == Index{0};
    const Shape& first = node.inputs.empty() ? graph.type(node.outputs[0]).shape : graph.type(node.inputs[0]).shape;
    const auto along = [&](std::int64_t axis) {
      return in[0] && static_cast<std::int64_t>(*in[0]) == (axis < 0 ? axis + static_cast<std::int64_t>(first.size()) : axis);
    };
    if (name == "matmul") return !contracts(graph, node, in);
    if (name == "concat") return in[0] && !along(node.attributes.integer("axis"));
    if (name == "gather") return !(in[0] == Index{0});
    if (name == "put") return true;
    if (name == "pick" || name == "cross_entropy" || name == "topk" || name == "layer_norm" || name == "one_hot")
      return !(in[0] && *in[0] + 1 == first.size() && name != "one_hot");
    if (name == "index" || name == "slice") {
      if (!along(node.attributes.integer("axis"))) return !mentions(node.attributes);
      if (apart_) return false;
      const auto inside = [&](const char* attribute, std::int64_t most) {
        const Dim at = node.attributes.dim(attribute);
        return at.is_constant() && at.constant() >= 0 && at.constant() <= most;
      };
      return name == "index" ? inside("at", kShortest - 1) : inside("begin", kShortest) && inside("end", kShortest);
    }
    const int lengths = node.op->input_index("lengths");
    const bool stops = lengths >= 0 && static_cast<Index>(lengths) < node.inputs.size() &&
                       node.inputs[static_cast<Index>(lengths)] != kNone &&
                       bounded[index(node.inputs[static_cast<Index>(lengths)])];
    if (name == "cumsum")
      return !along(node.attributes.integer("axis")) || (!apart_ && (stops || !node.attributes.boolean("reverse")));
    if (node.op->family == "reduce" || name == "mask" || name == "last") {
      const auto found = node.attributes.all().find("axis");
      if (found == node.attributes.all().end()) return false;
      const Attribute* axis = &found->second;
      bool over = false;
      if (const auto* one = std::get_if<std::int64_t>(axis)) over = along(*one);
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(axis)) {
        if (list->empty()) over = in[0].has_value();
        for (const std::int64_t a : *list) over = over || along(a);
      }
      return !over || (stops && !apart_);
    }
    return false;
  }

  // Whether a product sums over the axis of the size.
  bool contracts(const Graph& graph, const Node& node, const std::vector<std::optional<Index>>& in) const {
    const auto summed = [&](Index k, bool last) {
      const Index rank = graph.type(node.inputs[k]).shape.size();
      return in[k] && *in[k] + (last || rank == 1 ? 1 : 2) == rank;
    };
    return summed(0, !node.attributes.boolean("transpose_a")) || summed(1, node.attributes.boolean("transpose_b"));
  }

  // Results of comparing the step's number with (rearranged) lengths in a body: which rows are real.
  static Marks masks(const Graph& body, ValueId step, const Marks& lengths) {
    Marks mask(body.values.size(), false);
    for (const Node& node : body.nodes) {
      const ValueId v = node.outputs[0];
      if (node.op->name == "lt" && node.inputs[0] == step && lengths[index(node.inputs[1])]) mask[index(v)] = true;
      if (node.op->name == "expand" && mask[index(node.inputs[0])]) mask[index(v)] = true;
    }
    return mask;
  }

  void walk_scan(const Graph& graph, const Node& node, Marks& same, Marks& bounded) {
    const Graph& body = node.regions[0];
    const ir::ScanLayout l = ir::scan_layout(node);
    const Dim& steps = node.attributes.dim("steps");
    const bool over = mentions(steps), reverse = node.attributes.boolean("reverse");
    Marks inside_bounded(body.values.size(), false);
    for (Index k = l.invariant_begin(); k < l.step(); ++k)
      inside_bounded[index(body.inputs[k].value)] = bool{bounded[index(node.inputs[k])]};
    const Marks mask = masks(body, body.inputs[l.step()].value, inside_bounded);
    bool masked = true;  // every state and output: padded steps have no effect
    for (const ir::Output& o : body.outputs) {
      const std::int32_t n = body.value(o.value).node;
      masked = masked && n >= 0 && body.nodes[static_cast<Index>(n)].op->name == "where" &&
               mask[index(body.nodes[static_cast<Index>(n)].inputs[0])];
    }
    Marks state(l.states, true);
    Marks inside;
    for (bool changed = true; changed;) {
      changed = false;
      inside.assign(body.values.size(), false);
      for (Index k = 0; k < l.step(); ++k) {
        const bool known = same[index(node.inputs[k])] && (k >= l.states || state[k]);
        inside[index(body.inputs[k].value)] = known;
      }
      inside[index(body.inputs[l.step()].value)] = true;
      Marks lengths = inside_bounded;
      for (const Node& inner : body.nodes) walk(body, inner, inside, lengths);
      for (Index s = 0; s < l.states; ++s) {
        if (!state[s] || inside[index(body.outputs[s].value)]) continue;
        state[s] = false, changed = true;
      }
    }
    const bool ordered = !over || (!apart_ && (masked || !reverse));
    bool plain = true;
    for (Index k = 0; k < node.outputs.size(); ++k) {
      const ValueId v = node.outputs[k];
      const bool within = inside[index(body.outputs[k].value)] && (k >= l.states || state[k]);
      const bool end = k < l.states;
      axis_of(graph.type(v).shape, plain);
      same[index(v)] = within && (end ? !over || (masked && !apart_) : ordered) && plain;
    }
  }

  const bool apart_;
  std::set<Symbol> sizes_;
};

}  // namespace

std::vector<bool> same_prefix(const Graph& graph, Symbol size, const std::set<ValueId>& lengths) {
  return Prefix(graph, size, false).of_root(graph, lengths);
}

std::vector<bool> positions_apart(const Graph& graph, Symbol size) { return Prefix(graph, size, true).of_root(graph, {}); }

}  // namespace graphrun::random_graphs
