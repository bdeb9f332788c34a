#include "compiler/passes/simplify.h"

#include <algorithm>
#include <map>

#include "compiler/passes/simplify_rules.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::OpSchema;
using ir::ScanLayout;
using ir::ValueId;

// Rules that rewrite a node endlessly would be a bug; chains of rewrites that occur are shorter than this.
constexpr int kMostRewrites = 32;

// The rules of one role, in the order in which they are tried.
const std::vector<Rule>& rules_of(ir::Role role) {
  static const auto* const table = [] {
    auto* by_role = new std::map<ir::Role, std::vector<Rule>>;
    for (const RuleTable* rules : {&arithmetic_rules(), &shape_rules()}) {
      for (const auto& [of, rule] : *rules) (*by_role)[of].push_back(rule);
    }
    return by_role;
  }();
  static const std::vector<Rule> none;
  const auto it = table->find(role);
  return it == table->end() ? none : it->second;
}

bool try_rules(Match& match) {
  const OpSchema& op = *match.node().op;
  if (by_algebra(match)) return true;
  const std::vector<Rule>& rules = rules_of(op.role);
  if (std::any_of(rules.begin(), rules.end(), [&](Rule rule) { return rule(match); })) return true;
  return op.pointwise && read_before_broadcast(match);
}

// Applies the rules of the node's op until none applies; the op may change meanwhile. Returns whether any rule applied.
bool rewrite(Graph& g, std::size_t n, Replacements& replaced) {
  for (int round = 0; round < kMostRewrites; ++round) {
    Match match(g, n);
    if (!try_rules(match)) return round > 0;
    if (match.replacement != kNone) {
      replaced.replace(g.nodes[n].outputs[0], match.replacement);
      return true;
    }
  }
  return true;
}

// Replaces results of a scan that equal its operands. Only results that still have readers count as a change, since the scan
// keeps all its results while any of them is read.
void shorten(const Node& scan, const std::vector<bool>& read, Replacements& replaced) {
  const ScanLayout l = ir::scan_layout(scan);
  const Graph& body = scan.regions[0];
  for (std::size_t k = 0; k < scan.outputs.size(); ++k) {
    if (!read[static_cast<std::size_t>(scan.outputs[k])]) continue;
    const ValueId inner = body.outputs[k].value;
    const std::size_t first = k < l.states ? k : l.each_begin(), last = k < l.states ? k + 1 : l.invariant_begin();
    for (std::size_t i = first; i < last; ++i) {
      if (body.inputs[i].value == inner) {
        replaced.replace(scan.outputs[k], scan.inputs[i]);
        break;
      }
    }
  }
}

std::vector<bool> values_read(const Graph& g) {
  std::vector<bool> read(g.values.size());
  const auto mark = [&](ValueId v) {
    if (v != kNone) read[static_cast<std::size_t>(v)] = true;
  };
  for (const Node& n : g.nodes) std::for_each(n.inputs.begin(), n.inputs.end(), mark);
  for (const ir::Output& o : g.outputs) mark(o.value);
  for (const ir::Variable& v : g.variables) mark(v.next);
  return read;
}

bool simplify_graph(Graph& g) {
  bool changed = false;
  Replacements replaced(g);
  const bool has_scan = std::any_of(g.nodes.begin(), g.nodes.end(), ir::is_scan);
  const std::vector<bool> read = has_scan ? values_read(g) : std::vector<bool>();
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    Node& node = g.nodes[n];
    replaced.rewire(node);
    if (ir::is_scan(node)) {
      shorten(node, read, replaced);
    } else {
      changed = rewrite(g, n, replaced) || changed;
    }
  }
  changed = changed || replaced.any();
  replaced.finish(g);
  return changed;
}

}  // namespace

const Node* Match::made_by_same(ValueId v) const {
  const Node* n = producer(v);
  return n && n->op == node().op ? n : nullptr;
}

bool Match::become(ValueId v) {
  if (type(v) != result()) return false;
  replacement = v;
  return true;
}

bool Match::become(std::string_view op, std::vector<ValueId> inputs, const ir::NamedAttributes& attributes) {
  return replace(ir::OpRegistry::instance().get(op), std::move(inputs), attributes);
}

bool Match::keep_op(std::vector<ValueId> inputs, const ir::NamedAttributes& attributes) {
  return replace(*node().op, std::move(inputs), attributes);
}

bool Match::replace(const OpSchema& op, std::vector<ValueId> inputs, const ir::NamedAttributes& attributes) {
  Attributes complete;
  for (const ir::AttributeSpec& spec : op.attributes) {
    if (spec.default_value) complete.set(spec.name, *spec.default_value);
  }
  for (const auto& [name, value] : attributes) complete.set(name, value);
  ir::InferContext c;
  c.op = &op;
  c.attributes = &complete;
  for (ValueId v : inputs) c.inputs.push_back(v == kNone ? nullptr : &type(v));
  try {
    op.infer(c);
  } catch (const ir::OpError&) {
    return false;
  }
  if (c.outputs.size() != 1 || c.outputs[0] != result()) return false;
  Node& n = g_.nodes[n_];
  n.op = &op;
  n.inputs = std::move(inputs);
  n.attributes = std::move(complete);
  return true;
}

PassResult simplify(Graph graph) {
  const bool changed = rewrite_inner_first(graph, [](Graph& g, const Node*) { return simplify_graph(g); });
  return {std::move(graph), changed};
}

}  // namespace graphrun
