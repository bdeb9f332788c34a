#include "compiler/passes/unmask.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/ir/readers.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::Role;
using ir::ValueId;

// With larger numbers, rounding of the equal logits of a masked row would show in its loss.
constexpr double kMostNumber = 1e4;

class Unmasking {
 public:
  explicit Unmasking(Graph& graph) : g_(graph), readers_(graph), at_end_(ir::read_at_end(graph)) {
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
        moved_.emplace(n, std::move(node));  // its only reader creates it again
      } else if (const auto masked = masked_gradients_.find(n); masked != masked_gradients_.end()) {
        rebuild.replace(node.outputs[0], gradient_of(rebuild, node, masked->second));
      } else if (logits_.count(node.outputs[0]) == 0) {  // readers of these logits now read the unmasked ones
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

  // Whether v is a constant of at most this magnitude.
  bool is_number(ValueId v, double most) const {
    const std::optional<double> number = ir::number(g_, v);
    return number && std::abs(*number) <= most;
  }
  bool leaves(ValueId v) const { return at_end_[static_cast<std::size_t>(v)]; }
  // Whether `mask` has as many axes as `rows` and its last axis has size 1, so that it is the same for all elements of a row.
  bool selects_rows(ValueId mask, ValueId rows) const {
    const Shape &m = g_.type(mask).shape, &x = g_.type(rows).shape;
    return x.size() > 1 && m.size() == x.size() && m.back().is(1) && g_.type(mask).type == Type::kBool;
  }

  // Finds the selection around a gradient that has no other reader.
  void look_at_gradient(std::size_t n) {
    const Node& node = g_.nodes[n];
    if (!ir::plays(node, Role::kSelect) || !is_number(node.inputs[2], 0)) return;
    const ValueId x = node.inputs[1];
    if (!ir::made_by(g_, x, Role::kCrossEntropyGradient) || readers_.of(x).size() != 1 || leaves(x)) return;
    if (!selects_rows(node.inputs[0], x) || g_.type(node.outputs[0]) != g_.type(x)) return;
    const auto made = static_cast<std::size_t>(g_.value(x).node);
    masked_gradients_[n] = made;
    gradients_[made] = node.inputs[0];
  }

  // Finds masked logits whose readers can all do without the mask.
  void look_at_logits(std::size_t n) {
    const Node& node = g_.nodes[n];
    if (!ir::plays(node, Role::kSelect) || masked_gradients_.count(n) != 0) return;
    if (!is_number(node.inputs[2], kMostNumber) || leaves(node.outputs[0])) return;
    const ValueId masked = node.outputs[0], mask = node.inputs[0];
    if (!selects_rows(mask, node.inputs[1]) || g_.type(masked) != g_.type(node.inputs[1])) return;
    if (!g_.type(masked).shape.back().is_constant()) return;
    const auto fits = [&](std::int32_t reader) {
      const Node& r = g_.nodes[static_cast<std::size_t>(reader)];
      if (r.inputs[0] != masked) return false;
      if (ir::plays(r, Role::kCrossEntropy)) return true;
      const auto gradient = gradients_.find(static_cast<std::size_t>(reader));
      return gradient != gradients_.end() && gradient->second == mask;
    };
    const auto all = readers_.of(masked);
    if (!std::all_of(all.begin(), all.end(), fits)) return;
    for (const std::int32_t r : all) {
      const auto reader = static_cast<std::size_t>(r);
      if (ir::plays(g_.nodes[reader], Role::kCrossEntropy)) losses_[reader] = {mask, node.inputs[1]};
    }
    logits_[masked] = node.inputs[1];
  }

  // The mask without the class axis.
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

  ValueId gradient_of(Rebuild& r, const Node& selection, std::size_t made) {
    const Node& gradient = moved_.at(made);
    begin(r, gradient);
    ir::Builder& b = r.builder();
    const ValueId g = b.op("where", {of_rows(r, selection.inputs[0]), r.of(gradient.inputs[3]), r.of(selection.inputs[2])});
    const auto bare = logits_.find(gradient.inputs[0]);
    const ValueId logits = bare == logits_.end() ? gradient.inputs[0] : bare->second;
    return b.op("cross_entropy_gradient", {r.of(logits), r.of(gradient.inputs[1]), r.of(gradient.inputs[2]), g},
                attributes_of(gradient));
  }

  Graph& g_;
  const ir::Readers readers_;
  const std::vector<bool> at_end_;                       // by value: read after the last node
  std::map<std::size_t, ValueId> gradients_;             // cross_entropy_gradient node, its mask
  std::map<std::size_t, std::size_t> masked_gradients_;  // selection around the gradient, gradient node
  std::map<std::size_t, Selection> losses_;              // cross_entropy node, the selection that it reads
  std::map<ValueId, ValueId> logits_, row_masks_;        // unmasked logits; masks without the class axis
  std::map<std::size_t, Node> moved_;
};

}  // namespace

PassResult unmask(Graph graph) {
  const bool changed = rewrite_inner_first(graph, [](Graph& g, const Node*) { return Unmasking(g).run(); });
  return {std::move(graph), changed};
}

}  // namespace graphrun
