#include "compiler/passes/delay_to_shift.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/ir/transplant.h"
#include "compiler/rewrite/around_scan.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::ValueId;

// A state that is `value` of the previous step. If there is a mask (step < lengths), the state keeps its value where the mask
// is false.
struct Delay {
  std::size_t state = 0;
  ValueId value = kNone, mask = kNone, lengths = kNone;
};

// Finds all delays; a delay of another delay's state comes after that one.
class Delays {
 public:
  explicit Delays(const Node& scan)
      : body_(scan.regions[0]),
        l_(scan_layout(scan)),
        steps_(scan.attributes.dim("steps")),
        d_(dependence_in_body(scan)),
        known_(body_.values.size()) {
    for (std::size_t i = l_.each_begin(); i <= l_.step(); ++i) known_[index(body_.inputs[i].value)] = true;
    // Each round uses the states that the previous round found.
    for (bool again = l_.states > 0; again;) {
      again = false;
      decide_nodes();
      for (std::size_t s = 0; s < l_.states; ++s) {
        if (known_[index(body_.inputs[s].value)]) continue;
        const std::optional<Delay> delay = look_at(s);
        if (!delay) continue;
        found.push_back(*delay);
        known_[index(body_.inputs[s].value)] = again = true;
      }
    }
  }

  std::vector<Delay> found;

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }

  // Finds what can be computed for all steps at once. Random draws stay in the loop, since they would be drawn twice.
  void decide_nodes() {
    for (const Node& node : body_.nodes) {
      const bool can =
          !draws(node) && can_lift(body_, node, d_, steps_) &&
          std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return v == kNone || known_[index(v)]; }) &&
          std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return may_be_stacked(body_.type(v).shape); });
      for (ValueId v : node.outputs) known_[index(v)] = can;
    }
  }

  std::optional<Delay> look_at(std::size_t s) const {
    const ValueId before = body_.inputs[s].value, next = body_.outputs[s].value;
    if (!may_be_stacked(body_.type(before).shape)) return std::nullopt;
    Delay delay{s, next, kNone, kNone};
    const Node* node = ir::made_by(body_, next, ir::Role::kSelect);
    if (node && node->inputs[2] == before) {
      delay.value = node->inputs[1], delay.mask = node->inputs[0];
      delay.lengths = lengths_of(delay.mask, body_.type(before).shape);
      if (delay.lengths == kNone) return std::nullopt;
    }
    if (!known_[index(delay.value)] || body_.type(delay.value) != body_.type(before)) return std::nullopt;
    return delay;
  }

  // If the mask is step < lengths for rows of this shape (with the rows' axis, then axes of size 1), returns the lengths.
  ValueId lengths_of(ValueId mask, const Shape& shape) const {
    const Node* node = ir::producer(body_, mask);
    while (node && node->op->view) node = ir::producer(body_, node->inputs[0]);
    if (!node || !ir::plays(*node, ir::Role::kLess) || node->inputs[0] != body_.inputs[l_.step()].value) return kNone;
    const ValueId lengths = node->inputs[1];
    const auto same = [&](const ir::Input& input) { return input.value == lengths; };
    const auto first = body_.inputs.begin() + static_cast<std::ptrdiff_t>(l_.invariant_begin());
    const auto end = body_.inputs.begin() + static_cast<std::ptrdiff_t>(l_.step());
    if (std::find_if(first, end, same) == end) return kNone;
    const Shape& rows = body_.type(lengths).shape;
    if (rows.size() > shape.size() || !std::equal(rows.begin(), rows.end(), shape.begin())) return kNone;
    Shape expected = rows;
    expected.resize(shape.size(), 1);
    return body_.type(mask).shape == expected ? lengths : kNone;
  }

  const Graph& body_;
  const ScanLayout l_;
  const Dim steps_;
  const BodyDependence d_;
  std::vector<bool> known_;  // by value: available outside the loop
};

// Rewrites one scan.
class Shifting {
 public:
  Shifting(Rebuild& rebuild, Node scan)
      : r_(rebuild), scan_(std::move(scan)), body_(scan_.regions[0]), l_(scan_layout(scan_)), delays_(Delays(scan_).found) {}

  void run() {
    if (delays_.empty()) return r_.keep(std::move(scan_));
    r_.rewire(scan_);
    around_.emplace(r_.builder(), scan_);
    sequences_.assign(l_.states, kNone);
    for (const Delay& d : delays_) shift(d);
    emit_loop();
  }

 private:
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }
  ir::Builder& b() { return r_.builder(); }
  ValueId part(ValueId x, Dim begin, Dim end) {
    return b().op("slice", {x}, {{"axis", std::int64_t{0}}, {"begin", std::move(begin)}, {"end", std::move(end)}});
  }

  // Computes a value of the body, and everything that it reads, as a sequence.
  ValueId sequence(ValueId v) {
    std::vector<bool> wanted(body_.values.size()), nodes(body_.nodes.size());
    wanted[index(v)] = true;
    for (std::size_t n = body_.nodes.size(); n-- > 0;) {
      const Node& node = body_.nodes[n];
      nodes[n] = std::any_of(node.outputs.begin(), node.outputs.end(),
                             [&](ValueId y) { return wanted[index(y)] && !around_->has(y); });
      if (!nodes[n]) continue;
      for (ValueId x : node.inputs) {
        if (x != kNone) wanted[index(x)] = true;
      }
    }
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      if (nodes[n]) around_->lift(n);
    }
    return around_->sequence(v);
  }

  // Computes the state after every step; from this follow the state before every step and the final state.
  void shift(const Delay& d) {
    const Dim steps = scan_.attributes.dim("steps");
    const bool reverse = scan_.attributes.boolean("reverse");
    const ValueId before = body_.inputs[d.state].value, begin = scan_.inputs[d.state];
    ValueId after = sequence(d.value);
    const ValueId mask = d.mask == kNone ? kNone : sequence(d.mask);
    b().set_location(scan_.at);
    b().set_name(body_.value(before).name + ".shift");
    if (d.mask != kNone) {
      after = b().op("where", {mask, after, reverse ? begin : last(after, around_->at(d.lengths).value, begin)});
    }
    const ValueId first = b().op("expand", {begin}, {{"axis", std::int64_t{0}}});
    const ValueId all =
        b().op("concat", reverse ? std::vector{after, first} : std::vector{first, after}, {{"axis", std::int64_t{0}}});
    b().set_name(body_.value(before).name);
    const ValueId shifted = reverse ? part(all, 1, steps + 1) : part(all, 0, steps);
    around_->set(before, {shifted, true});
    sequences_[d.state] = shifted;
    b().set_name(b().graph().value(scan_.outputs[d.state]).name);
    r_.replace(scan_.outputs[d.state], b().op("index", {all}, {{"axis", std::int64_t{0}}, {"at", reverse ? Dim(0) : steps}}));
  }

  // For each row, the value of its last step, or the initial value if the row has no step.
  ValueId last(ValueId sequence, ValueId lengths, ValueId begin) {
    const ValueId last = b().op("last", {sequence, lengths}, {{"axis", std::int64_t{0}}});
    if (ir::is_zeros(b().graph(), begin)) return last;  // as it is for a row that has no step
    ValueId any = b().op("gt", {lengths, b().constant(0, Type::kInt32)});
    while (b().graph().type(any).shape.size() < b().graph().type(last).shape.size()) {
      any = b().op("expand", {any}, {{"axis", std::int64_t{-1}}});
    }
    return b().op("where", {any, last, begin});
  }

  bool stays(std::size_t result) const { return result >= l_.states || sequences_[result] == kNone; }
  // Whether v was computed outside as a sequence, so that the loop does not compute it. Masks stay: computing one costs no more
  // than reading it.
  bool is_made_outside(ValueId v) {
    return body_.value(v).node >= 0 && body_.type(v).type != Type::kBool && around_->has(v) && around_->at(v).sequence;
  }

  // The nodes that the remaining results need; sets `read` for the values that these nodes read.
  std::vector<bool> nodes_needed(std::vector<bool>& read) {
    std::vector<bool> needed(body_.nodes.size());
    for (std::size_t k = 0; k < body_.outputs.size(); ++k) {
      if (stays(k)) read[index(body_.outputs[k].value)] = true;
    }
    for (std::size_t n = body_.nodes.size(); n-- > 0;) {
      const Node& node = body_.nodes[n];
      needed[n] = node.op->update || std::any_of(node.outputs.begin(), node.outputs.end(),
                                                 [&](ValueId v) { return read[index(v)] && !is_made_outside(v); });
      if (!needed[n]) continue;
      for (ValueId v : node.inputs) {
        if (v != kNone) read[index(v)] = true;
      }
    }
    return needed;
  }

  // Builds the loop without the delaying states; slices of their sequences replace them.
  void emit_loop() {
    std::vector<bool> read(body_.values.size());
    const std::vector<bool> needed = nodes_needed(read);
    Graph loop;
    loop.name = body_.name;
    ir::Transplant in(body_, loop);
    std::vector<ValueId> operands;
    const auto add = [&](ValueId v, ValueId operand) {
      in.map(v, in.builder().input(body_.value(v).name, body_.type(v)));
      if (operand != kNone) operands.push_back(operand);
    };
    std::size_t states = 0, each = 0;
    for (std::size_t s = 0; s < l_.states; ++s) {
      if (stays(s)) add(body_.inputs[s].value, scan_.inputs[s]), ++states;
    }
    const auto add_sequence = [&](ValueId v, ValueId operand) { add(v, operand), ++each; };
    for (std::size_t i = l_.each_begin(); i < l_.invariant_begin(); ++i) add_sequence(body_.inputs[i].value, scan_.inputs[i]);
    for (const Delay& d : delays_) {
      const ValueId before = body_.inputs[d.state].value;
      if (read[index(before)]) add_sequence(before, sequences_[d.state]);
    }
    for (const Node& node : body_.nodes) {
      for (ValueId v : node.outputs) {
        if (read[index(v)] && is_made_outside(v)) add_sequence(v, around_->sequence(v));
      }
    }
    for (std::size_t i = l_.invariant_begin(); i < l_.step(); ++i) add(body_.inputs[i].value, scan_.inputs[i]);
    add(body_.inputs[l_.step()].value, kNone);
    for (std::size_t n = 0; n < body_.nodes.size(); ++n) {
      if (needed[n]) in.copy(n);
    }
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < body_.outputs.size(); ++k) {
      if (!stays(k)) continue;
      loop.outputs.push_back({body_.outputs[k].name, in(body_.outputs[k].value)});
      kept.push_back(k);
    }
    if (kept.empty()) return;
    b().set_location(scan_.at);
    b().set_name(body_.name);
    const std::vector<ValueId> results = b().scan(std::move(operands), std::move(loop), states, each,
                                                  scan_.attributes.dim("steps"), scan_.attributes.boolean("reverse"));
    for (std::size_t k = 0; k < kept.size(); ++k) r_.replace(scan_.outputs[kept[k]], results[k]);
  }

  Rebuild& r_;
  Node scan_;
  const Graph& body_;
  const ScanLayout l_;
  const std::vector<Delay> delays_;
  std::optional<AroundScan> around_;
  std::vector<ValueId> sequences_;  // by state: the sequence that replaces it, or kNone if it stays
};

}  // namespace

PassResult delay_to_shift(Graph graph) {
  const bool changed = rewrite_scans(
      graph, [](const Node& scan) { return !Delays(scan).found.empty(); },
      [](Rebuild& rebuild, Node scan) { Shifting(rebuild, std::move(scan)).run(); });
  return {std::move(graph), changed};
}

}  // namespace graphrun
