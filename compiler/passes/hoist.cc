#include "compiler/passes/hoist.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/ir/transplant.h"
#include "compiler/passes/simplify_rules.h"
#include "compiler/rewrite/around_scan.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::ValueId;

// Heavy nodes are worth moving by themselves: one call over all steps is faster than a call at each step. After the loop, only
// products are: moving a reduction would save its operand, which is larger than its result.
bool is_product(const Node& node) { return node.op->access == ir::Access::kProduct; }
bool is_heavy(const Node& node) {
  return is_product(node) || node.op->access == ir::Access::kReduction || node.op->access == ir::Access::kLookup;
}

enum class What { kAll, kInvariants };

// Decides which nodes of a scan's body move before or after the loop.
class Decision {
 public:
  Decision(const Node& scan, What what)
      : body_(scan.regions[0]), l_(scan_layout(scan)), steps_(scan.attributes.dim("steps")), d_(dependence_in_body(scan)) {
    before.resize(body_.nodes.size()), after.resize(body_.nodes.size());
    decide_same();
    if (what == What::kInvariants) {
      keep_repeated();
    } else {
      decide_before();
      decide_after();
    }
    any = std::find(before.begin(), before.end(), true) != before.end() ||
          std::find(after.begin(), after.end(), true) != after.end();
  }

  std::vector<bool> before, after;  // by node
  bool any = false;

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }
  const Node* producer(ValueId v) const { return ir::producer(body_, v); }
  bool varies(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return d_.on_step[index(v)]; });
  }
  bool on_state(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return d_.on_state[index(v)]; });
  }

  void decide_same() {
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      const Node& node = body_.nodes[n];
      before[n] = !varies(node) && !node.op->update && !is_scalar_constant(body_, node);
    }
  }

  // Keeps invariant nodes in the loop that only repeat elements, unless a node that moves reads them.
  void keep_repeated() {
    std::vector<bool> wanted(body_.nodes.size());
    for (std::size_t n = body_.nodes.size(); n-- > 0;) {
      const Node& node = body_.nodes[n];
      before[n] = before[n] && (wanted[n] || !ir::plays(node, ir::Role::kBroadcast));
      if (!before[n]) continue;
      for (ValueId v : node.inputs) {
        if (producer(v)) wanted[static_cast<std::size_t>(body_.value(v).node)] = true;
      }
    }
  }

  // By node: whether it can be computed before the loop, because it is invariant, or by its sequence rule from operands that
  // can.
  std::vector<bool> can_leave() const {
    std::vector<bool> can(body_.nodes.size());
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      const Node& node = body_.nodes[n];
      can[n] = !on_state(node) && (before[n] || is_scalar_constant(body_, node) || is_small(node)) &&
               can_lift(body_, node, d_, steps_) && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
                 return !producer(v) || can[static_cast<std::size_t>(body_.value(v).node)];
               });
    }
    return can;
  }
  bool is_small(const Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId v) { return may_be_stacked(body_.type(v).shape); });
  }

  // Moves the wanted nodes before the loop, with everything that they read.
  void take_before(std::vector<bool> wanted) {
    for (std::size_t n = body_.nodes.size(); n-- > 0;) {
      const Node& node = body_.nodes[n];
      if (!wanted[n] || !varies(node)) continue;
      before[n] = true;
      for (ValueId v : node.inputs) {
        if (producer(v)) wanted[static_cast<std::size_t>(body_.value(v).node)] = true;
      }
    }
  }

  void decide_before() {
    can_ = can_leave();
    const std::vector<bool> masks = find_masks();
    std::vector<bool> wanted(body_.nodes.size());
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      wanted[n] = can_[n] && (is_heavy(body_.nodes[n]) || masks[n] || !has_states());
    }
    take_before(std::move(wanted));
  }

  // By node: whether it is a mask, that is, a byte per row that depends only on the number of the step (is the row's sequence
  // over? is this the first step?).
  std::vector<bool> find_masks() const {
    std::vector<bool> of_step(body_.values.size()), masks(body_.nodes.size());
    for (std::size_t i = l_.invariant_begin(); i <= l_.step(); ++i) of_step[index(body_.inputs[i].value)] = true;
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      const Node& node = body_.nodes[n];
      if (draws(node) ||
          !std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return v == kNone || of_step[index(v)]; })) {
        continue;
      }
      for (ValueId v : node.outputs) of_step[index(v)] = true;
      masks[n] = varies(node) && std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) {
                   const Shape& shape = body_.type(v).shape;
                   const auto axes = std::count_if(shape.begin(), shape.end(), [](const Dim& d) { return !d.is(1); });
                   return body_.type(v).type == Type::kBool && axes <= 1;
                 });
    }
    return masks;
  }

  // A state that never changes does not count; dead_code removes it.
  bool has_states() const {
    for (std::size_t s = 0; s < l_.states; ++s) {
      if (body_.outputs[s].value != body_.inputs[s].value) return true;
    }
    return false;
  }

  void decide_after() {
    std::vector<bool> stays_read(body_.values.size());  // by a node that stays
    std::vector<bool> can(body_.nodes.size());
    for (std::size_t n = body_.nodes.size(); n-- > 0;) {
      const Node& node = body_.nodes[n];
      can[n] = on_state(node) && !d_.for_state[n] && can_lift(body_, node, d_, steps_) &&
               std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return bool{stays_read[index(v)]}; }) &&
               std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return v == kNone || may_be_kept(v); });
      if (can[n]) continue;
      for (ValueId v : node.inputs) {
        if (v != kNone) stays_read[index(v)] = true;
      }
    }
    std::vector<bool> wanted(body_.nodes.size());  // needed before the loop, by nodes after it
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      const Node& node = body_.nodes[n];
      after[n] = can[n] && (is_product(node) || std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
                              return producer(v) && after[static_cast<std::size_t>(body_.value(v).node)];
                            }));
      if (!after[n]) continue;
      for (ValueId v : node.inputs) {
        if (producer(v) && can_[static_cast<std::size_t>(body_.value(v).node)]) {
          wanted[static_cast<std::size_t>(body_.value(v).node)] = true;
        }
      }
    }
    take_before(std::move(wanted));
  }

  // Whether v is available outside, or small enough for the loop to save it for every step.
  bool may_be_kept(ValueId v) const {
    const bool outside = producer(v) ? bool{can_[static_cast<std::size_t>(body_.value(v).node)]} : !d_.on_state[index(v)];
    return outside || may_be_stacked(body_.type(v).shape);
  }

  std::vector<bool> can_;  // by node: can_leave
  const Graph& body_;
  const ScanLayout l_;
  const Dim steps_;
  const BodyDependence d_;
};

// Rewrites one scan.
class Hoisting {
 public:
  Hoisting(Rebuild& rebuild, Node scan, What what)
      : r_(rebuild), scan_(std::move(scan)), body_(scan_.regions[0]), l_(scan_layout(scan_)), d_(scan_, what) {}

  void run() {
    if (!d_.any) return r_.keep(std::move(scan_));
    r_.rewire(scan_);
    around_.emplace(r_.builder(), scan_);
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      if (d_.before[n]) around_->lift(n);
    }
    build_loop();
    emit_loop();
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      if (d_.after[n]) around_->lift(n);
    }
    for (std::size_t k = 0; k < scan_.outputs.size(); ++k) {
      if (result_[k] != kNone) {
        r_.replace(scan_.outputs[k], result_[k]);
      } else {
        r_.builder().set_location(scan_.at);
        r_.builder().set_name(body_.outputs[k].name);
        r_.replace(scan_.outputs[k], around_->sequence(body_.outputs[k].value));
      }
    }
  }

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }
  // Whether the node that computes v leaves the loop.
  bool left(ValueId v, const std::vector<bool>& nodes) const {
    const std::int32_t n = body_.value(v).node;
    return n >= 0 && nodes[static_cast<std::size_t>(n)];
  }

  // Builds the body without the nodes that left. Values that now come from before the loop are appended to the operands, and
  // values that nodes after the loop read are appended to the outputs.
  void build_loop() {
    ir::Transplant in(body_, loop_);
    loop_.name = body_.name;
    std::vector<ValueId> each, same;
    const auto carry = [&](ValueId v) {
      if (v == kNone || !left(v, d_.before) || !carried_.insert(v).second) return;
      (around_->at(v).sequence ? each : same).push_back(v);
    };
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      if (d_.before[n] || d_.after[n]) continue;
      for (ValueId v : body_.nodes[n].inputs) carry(v);
    }
    for (std::size_t s = 0; s < l_.states; ++s) carry(body_.outputs[s].value);

    const auto add_input = [&](std::size_t i) {
      const ir::Input& old = body_.inputs[i];
      in.map(old.value, in.builder().input(body_.value(old.value).name, body_.type(old.value)));
      loop_.inputs.back().below = old.below, loop_.inputs.back().lengths_of = old.lengths_of;
      if (i < l_.step()) operands_.push_back(scan_.inputs[i]);
    };
    const auto add_carried = [&](ValueId v) {
      in.map(v, in.builder().input(body_.value(v).name, body_.type(v)));
      operands_.push_back(around_->at(v).value);
    };
    for (std::size_t s = 0; s < l_.states; ++s) add_input(s);
    for (std::size_t i = l_.each_begin(); i < l_.invariant_begin(); ++i) add_input(i), ++each_;
    for (ValueId v : each) add_carried(v), ++each_;
    for (std::size_t i = l_.invariant_begin(); i < l_.step(); ++i) add_input(i);
    for (ValueId v : same) add_carried(v);
    add_input(l_.step());

    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      if (!d_.before[n] && !d_.after[n]) in.copy(n);
    }
    kept_.assign(scan_.outputs.size(), false);
    for (std::size_t k = 0; k < body_.outputs.size(); ++k) {
      const ValueId v = body_.outputs[k].value;
      // The loop does not stack a result that already exists outside as a sequence.
      kept_[k] = k < l_.states || !(left(v, d_.before) || left(v, d_.after) || around_->has(v));
      if (kept_[k]) loop_.outputs.push_back({body_.outputs[k].name, in(v)});
      if (kept_[k] && k >= l_.states) stacked_.insert(v);
    }
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      if (!d_.after[n]) continue;
      for (ValueId v : body_.nodes[n].inputs) {
        if (v != kNone) hand_out(v, in);
      }
    }
  }

  // Adds a result for a value that a node after the loop reads.
  void hand_out(ValueId v, const ir::Transplant& in) {
    const std::int32_t n = body_.value(v).node;
    if (left(v, d_.after) || around_->has(v) || v == body_.inputs[l_.step()].value) return;
    if (n >= 0 && is_scalar_constant(body_, body_.nodes[static_cast<std::size_t>(n)])) return;
    if (!stacked_.insert(v).second) return;
    handed_out_.push_back(v);
    loop_.outputs.push_back({body_.value(v).name, in(v)});
  }

  void emit_loop() {
    result_.assign(scan_.outputs.size(), kNone);
    if (loop_.outputs.empty()) return;  // everything has left
    ir::Builder& b = r_.builder();
    b.set_location(scan_.at);
    b.set_name(body_.name);
    const std::vector<ValueId> results = b.scan(operands_, std::move(loop_), l_.states, each_, scan_.attributes.dim("steps"),
                                                scan_.attributes.boolean("reverse"));
    std::size_t next = 0;
    for (std::size_t k = 0; k < scan_.outputs.size(); ++k) {
      if (!kept_[k]) continue;
      result_[k] = results[next++];
      if (k >= l_.states && !around_->has(body_.outputs[k].value)) around_->set(body_.outputs[k].value, {result_[k], true});
    }
    for (ValueId v : handed_out_) around_->set(v, {results[next++], true});
  }

  Rebuild& r_;
  Node scan_;
  const Graph& body_;
  const ScanLayout l_;
  const Decision d_;
  std::optional<AroundScan> around_;
  Graph loop_;
  std::unordered_set<ValueId> carried_, stacked_;  // passed into the loop; returned by it
  std::vector<ValueId> operands_, handed_out_;     // handed_out_: in addition to the old results
  std::size_t each_ = 0;
  std::vector<bool> kept_;       // by result: the loop still computes it
  std::vector<ValueId> result_;  // the new results
};

PassResult hoisted(Graph graph, What what) {
  const bool changed = rewrite_scans(
      graph, [what](const Node& scan) { return Decision(scan, what).any; },
      [what](Rebuild& rebuild, Node scan) { Hoisting(rebuild, std::move(scan), what).run(); });
  return {std::move(graph), changed};
}

}  // namespace

PassResult hoist(Graph graph) {
  PassResult result = hoisted(std::move(graph), What::kAll);
  if (!result.changed) return result;
  // An operand that is the same at every step was broadcast before the loop; an op that computes all steps at once can read it
  // as it was.
  rewrite_inner_first(result.graph, [](Graph& g, const Node*) {
    bool changed = false;
    for (std::size_t n = 0; n < g.nodes.size(); ++n) {
      Match match(g, n);
      if (g.nodes[n].op->pointwise) changed = read_before_broadcast(match) || changed;
    }
    return changed;
  });
  return result;
}
PassResult hoist_invariants(Graph graph) { return hoisted(std::move(graph), What::kInvariants); }

}  // namespace graphrun
