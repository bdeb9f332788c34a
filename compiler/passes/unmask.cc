#include "compiler/passes/unmask.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/passes/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ValueId;

// Who reads each value of a graph; what leaves it has a reader that is no node.
class Readers {
 public:
  explicit Readers(const Graph& g) : nodes_(g.values.size()), leaves_(g.values.size()) {
    for (std::size_t n = 0; n < g.nodes.size(); ++n)
      for (ValueId v : g.nodes[n].inputs)
        if (v != kNone) nodes_[index(v)].push_back(n);
    for (const ir::Output& o : g.outputs) leaves_[index(o.value)] = true;
    for (const ir::Variable& v : g.variables)
      if (v.next != kNone) leaves_[index(v.next)] = true;
  }
  const std::vector<std::size_t>& nodes(ValueId v) const { return nodes_[index(v)]; }
  bool leaves(ValueId v) const { return leaves_[index(v)]; }

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }
  std::vector<std::vector<std::size_t>> nodes_;
  std::vector<bool> leaves_;
};

class Unmasking {
 public:
  explicit Unmasking(Graph& graph) : g_(graph), readers_(graph) {
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) look_at_gradient(n);
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) look_at_logits(n);
  }

  bool run() {
    if (gradients_.empty() && losses_.empty()) return false;
    Rebuild rebuild(g_);
    for (std::size_t n = 0; n < rebuild.old_nodes().size(); ++n) {
      Node& node = rebuild.old_nodes()[n];
      if (const auto loss = losses_.find(n); loss != losses_.end()) {
        rebuild.replace(node.outputs[0], loss_of(rebuild, node, loss->second));
      } else if (const auto made = gradients_.find(n); made != gradients_.end()) {
        moved_.emplace(n, std::move(node));  // its only reader makes it
      } else if (const auto masked = masked_gradients_.find(n); masked != masked_gradients_.end()) {
        rebuild.replace(node.outputs[0], gradient_of(rebuild, node, masked->second));
      } else if (logits_.count(node.outputs[0]) == 0) {  // whose readers read what it selects from
        rebuild.keep(std::move(node));
      }
    }
    rebuild.finish();
    return true;
  }

 private:
  // A selection where(m, x, number) of whole rows.
  struct Selection {
    ValueId mask = kNone, logits = kNone;
  };
  struct MaskedGradient {
    std::size_t made = 0;  // by which node
    ValueId zero = kNone;  // the constant, where it is one
  };

  const Node* producer(ValueId v, std::string_view op) const {
    const std::int32_t n = v == kNone ? -1 : g_.value(v).node;
    return n >= 0 && g_.nodes[static_cast<std::size_t>(n)].op->name == op ? &g_.nodes[static_cast<std::size_t>(n)] : nullptr;
  }
  bool is_zero(ValueId v) const {
    const Node* constant = producer(v, "constant");
    return producer(v, "zeros") || (constant && constant->attributes.number("value") == 0);
  }
  // Whether `mask` is the same for all elements of a row, and of no more axes than there are rows.
  bool selects_rows(ValueId mask, ValueId rows) const {
    const Shape &m = g_.type(mask).shape, &x = g_.type(rows).shape;
    return x.size() > 1 && m.size() == x.size() && m.back().is(1) && g_.type(mask).type == Type::kBool;
  }

  // The outer selection of a gradient that nothing else reads.
  void look_at_gradient(std::size_t n) {
    const Node& node = g_.nodes[n];
    if (node.op->name != "where" || !is_zero(node.inputs[2])) return;
    const ValueId x = node.inputs[1];
    if (!producer(x, "cross_entropy_gradient") || readers_.nodes(x).size() != 1 || readers_.leaves(x)) return;
    if (!selects_rows(node.inputs[0], x) || g_.type(node.outputs[0]) != g_.type(x)) return;
    const auto made = static_cast<std::size_t>(g_.value(x).node);
    masked_gradients_[n] = {made, producer(node.inputs[2], "constant") ? node.inputs[2] : kNone};
    gradients_[made] = node.inputs[0];
  }

  // Logits that go when every reader can do without the selection.
  void look_at_logits(std::size_t n) {
    const Node& node = g_.nodes[n];
    if (node.op->name != "where" || !producer(node.inputs[2], "constant") || readers_.leaves(node.outputs[0])) return;
    const ValueId masked = node.outputs[0], mask = node.inputs[0];
    if (!selects_rows(mask, node.inputs[1]) || g_.type(masked) != g_.type(node.inputs[1])) return;
    if (!g_.type(masked).shape.back().is_constant()) return;
    const auto fits = [&](std::size_t reader) {
      const Node& r = g_.nodes[reader];
      if (r.inputs[0] != masked) return false;
      if (r.op->name == "cross_entropy") return true;
      const auto gradient = gradients_.find(reader);
      return gradient != gradients_.end() && gradient->second == mask;
    };
    const std::vector<std::size_t>& all = readers_.nodes(masked);
    if (!std::all_of(all.begin(), all.end(), fits)) return;
    for (std::size_t reader : all)
      if (g_.nodes[reader].op->name == "cross_entropy") losses_[reader] = {mask, node.inputs[1]};
    logits_[masked] = node.inputs[1];
  }

  // The mask without the axis of the classes.
  ValueId of_rows(Rebuild& r, ValueId mask) {
    const auto [at, added] = row_masks_.emplace(mask, kNone);
    if (added) {
      Shape shape = r.builder().graph().type(r.of(mask)).shape;
      shape.pop_back();
      at->second = r.builder().op("reshape", {r.of(mask)}, {{"shape", std::move(shape)}});
    }
    return at->second;
  }
  ir::NamedAttributes attributes_of(const Node& node) const {
    const auto& all = node.attributes.all();
    return {all.begin(), all.end()};
  }
  void begin(Rebuild& r, const Node& node) {
    r.builder().set_location(node.at);
    r.builder().set_name(r.builder().graph().value(node.outputs[0]).name);
  }

  ValueId loss_of(Rebuild& r, const Node& node, const Selection& s) {
    begin(r, node);
    ir::Builder& b = r.builder();
    const auto classes = static_cast<double>(b.graph().type(r.of(s.logits)).shape.back().constant());
    const ValueId loss = b.op("cross_entropy", {r.of(s.logits), r.of(node.inputs[1])}, attributes_of(node));
    return b.op("where", {of_rows(r, s.mask), loss, b.constant(std::log(classes))});
  }

  ValueId gradient_of(Rebuild& r, const Node& selection, const MaskedGradient& masked) {
    const Node& gradient = moved_.at(masked.made);
    begin(r, gradient);
    ir::Builder& b = r.builder();
    const ValueId zero = masked.zero == kNone ? b.constant(0) : r.of(masked.zero);
    const ValueId g = b.op("where", {of_rows(r, selection.inputs[0]), r.of(gradient.inputs[3]), zero});
    const auto bare = logits_.find(gradient.inputs[0]);
    const ValueId logits = bare == logits_.end() ? gradient.inputs[0] : bare->second;
    return b.op("cross_entropy_gradient", {r.of(logits), r.of(gradient.inputs[1]), r.of(gradient.inputs[2]), g},
                attributes_of(gradient));
  }

  Graph& g_;
  const Readers readers_;
  std::map<std::size_t, ValueId> gradients_;                // cross_entropy_gradient, its mask
  std::map<std::size_t, MaskedGradient> masked_gradients_;  // by the selection around it
  std::map<std::size_t, Selection> losses_;                 // cross_entropy, what it reads
  std::map<ValueId, ValueId> logits_, row_masks_;           // without the selection; of rows
  std::map<std::size_t, Node> moved_;
};

bool unmask_in(Graph& g) {
  bool changed = false;
  for (Node& node : g.nodes)
    for (Graph& region : node.regions) changed = unmask_in(region) || changed;
  return Unmasking(g).run() || changed;
}

}  // namespace

PassResult unmask(Graph graph) {
  const bool changed = unmask_in(graph);
  return {std::move(graph), changed};
}

}  // namespace graphrun
