#include "compiler/passes/common_subexpressions.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "compiler/ir/op.h"
#include "compiler/ir/printer.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::ValueId;

bool may_merge(const Graph& g) {
  return std::all_of(g.nodes.begin(), g.nodes.end(), [](const Node& n) {
    return !n.op->random && !n.op->update && std::all_of(n.regions.begin(), n.regions.end(), may_merge);
  });
}

std::vector<ValueId> ordered_inputs(const Node& n) {
  std::vector<ValueId> inputs = n.inputs;
  if (n.op->commutative) std::sort(inputs.begin(), inputs.end());
  return inputs;
}

class Hash {
 public:
  void add(std::uint64_t x) {
    hash_ = (hash_ ^ x) * 0x9E3779B97F4A7C15ull;
    hash_ ^= hash_ >> 29;
  }
  void add(std::string_view s) { add(std::hash<std::string_view>{}(s)); }
  // The hash may be weak, as for a size, where it takes only the constant: comparison decides.
  void add(const Attribute& a) {
    add(a.index());
    if (const auto* b = std::get_if<bool>(&a)) add(std::uint64_t{*b});
    if (const auto* i = std::get_if<std::int64_t>(&a)) add(static_cast<std::uint64_t>(*i));
    if (const auto* d = std::get_if<double>(&a)) add(std::bit_cast<std::uint64_t>(*d));
    if (const auto* s = std::get_if<std::string>(&a)) add(std::string_view(*s));
    if (const auto* dim = std::get_if<Dim>(&a)) add(*dim);
    if (const auto* shape = std::get_if<Shape>(&a)) {
      for (const Dim& dim : *shape) add(dim);
    }
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&a)) {
      for (std::int64_t i : *list) add(static_cast<std::uint64_t>(i));
    }
    if (const auto* value = std::get_if<OpaqueValue>(&a)) add(std::string_view(value->text()));
  }
  std::uint64_t value() const { return hash_; }

 private:
  void add(const Dim& dim) { add(static_cast<std::uint64_t>(dim.constant())), add(std::uint64_t{dim.is_constant()}); }
  std::uint64_t hash_ = 0xCBF29CE484222325ull;
};

std::uint64_t hash_of(const Node& n) {
  Hash h;
  h.add(std::string_view(n.op->name));
  for (ValueId v : ordered_inputs(n)) h.add(static_cast<std::uint64_t>(v));
  for (const auto& [name, value] : n.attributes.all()) h.add(value);
  for (const Graph& region : n.regions) h.add(region.nodes.size());
  return h.value();
}

bool same_attributes(const Attributes& a, const Attributes& b) {
  return std::equal(a.all().begin(), a.all().end(), b.all().begin(), b.all().end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && ir::same_attribute(x.second, y.second); });
}

bool alike(const Graph& a, const Graph& b);

// Compares everything except the operands.
bool same_work(const Node& a, const Node& b) {
  return a.op == b.op && a.outputs.size() == b.outputs.size() && same_attributes(a.attributes, b.attributes) &&
         std::equal(a.regions.begin(), a.regions.end(), b.regions.begin(), b.regions.end(), alike);
}

// Whether the graphs are equal node by node; names do not count.
bool alike(const Graph& a, const Graph& b) {
  if (a.inputs.size() != b.inputs.size() || a.nodes.size() != b.nodes.size() || a.outputs.size() != b.outputs.size())
    return false;
  std::vector<ValueId> twin(a.values.size(), kNone);
  const auto pair = [&](ValueId x, ValueId y) {
    twin[static_cast<std::size_t>(x)] = y;
    return a.type(x) == b.type(y);
  };
  const auto paired = [&](ValueId x, ValueId y) { return x == kNone ? y == kNone : twin[static_cast<std::size_t>(x)] == y; };
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    if (!pair(a.inputs[i].value, b.inputs[i].value)) return false;
  }
  for (std::size_t n = 0; n < a.nodes.size(); ++n) {
    const Node &x = a.nodes[n], &y = b.nodes[n];
    if (!std::equal(x.inputs.begin(), x.inputs.end(), y.inputs.begin(), y.inputs.end(), paired) || !same_work(x, y))
      return false;
    for (std::size_t r = 0; r < x.outputs.size(); ++r) {
      if (!pair(x.outputs[r], y.outputs[r])) return false;
    }
  }
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    [&](const ir::Output& x, const ir::Output& y) { return paired(x.value, y.value); });
}

// If two operands are the same value outside, makes them one value inside. States are excluded, since they change.
void merge_body_inputs(const Node& scan, Replacements& inside) {
  const ScanLayout l = ir::scan_layout(scan);
  const Graph& body = scan.regions[0];
  std::map<std::pair<bool, ValueId>, ValueId> first;
  for (std::size_t i = l.each_begin(); i < l.step(); ++i) {
    const bool sliced = i < l.invariant_begin();
    const auto [it, fresh] = first.emplace(std::pair(sliced, scan.inputs[i]), body.inputs[i].value);
    if (!fresh) inside.replace(body.inputs[i].value, it->second);
  }
}

// If two outputs are the same value inside, makes them one result outside.
void merge_results(const Node& scan, Replacements& outside) {
  const ScanLayout l = ir::scan_layout(scan);
  std::unordered_map<ValueId, ValueId> first;
  for (std::size_t k = l.states; k < scan.outputs.size(); ++k) {
    const auto [it, fresh] = first.emplace(scan.regions[0].outputs[k].value, scan.outputs[k]);
    if (!fresh) outside.replace(scan.outputs[k], it->second);
  }
}

// Merges nodes in one graph, from top to bottom, and in the bodies of its scans. Returns whether anything was merged.
bool merge(Graph& g, Replacements& replaced) {
  bool changed = replaced.any();
  std::unordered_multimap<std::uint64_t, std::size_t> seen;
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    Node& node = g.nodes[n];
    replaced.rewire(node);
    if (ir::is_scan(node)) {
      Replacements inside(node.regions[0]);
      merge_body_inputs(node, inside);
      changed = merge(node.regions[0], inside) || changed;
      merge_results(node, replaced);
    }
    if (node.op->random || node.op->update || !std::all_of(node.regions.begin(), node.regions.end(), may_merge)) continue;
    const std::uint64_t hash = hash_of(node);
    const auto [begin, end] = seen.equal_range(hash);
    const auto twin = std::find_if(begin, end, [&](const auto& entry) {
      const Node& other = g.nodes[entry.second];
      return ordered_inputs(other) == ordered_inputs(node) && same_work(other, node);
    });
    if (twin == end) {
      seen.emplace(hash, n);
      continue;
    }
    const Node& other = g.nodes[twin->second];
    for (std::size_t r = 0; r < node.outputs.size(); ++r) replaced.replace(node.outputs[r], other.outputs[r]);
  }
  changed = changed || replaced.any();
  replaced.finish(g);
  return changed;
}

}  // namespace

PassResult common_subexpressions(Graph graph) {
  Replacements replaced(graph);
  const bool changed = merge(graph, replaced);
  return {std::move(graph), changed};
}

}  // namespace graphrun
