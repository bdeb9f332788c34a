#include "compiler/memory_chains.h"

#include <algorithm>

#include "compiler/ir/op.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ValueId;

struct Link {
  ValueId result, operand;
};

class ChainFinder {
 public:
  ChainFinder(const ir::Graph& graph, const ir::Readers& readers, const std::vector<std::int32_t>& last_use,
              const std::map<std::int32_t, InPlacePairs>& scan_pairs, const std::vector<ChainEnds>& ends)
      : graph_(graph),
        readers_(readers),
        last_use_(last_use),
        scan_pairs_(scan_pairs),
        leads_to_(graph.values.size(), -1),
        holder_(graph.values.size(), -1) {
    mark_ways(ends);
  }

  // The links from ends.from to ends.to; empty if there is no chain, or none is needed.
  std::vector<Link> find(const ChainEnds& ends, std::int32_t index);

 private:
  void mark_ways(const std::vector<ChainEnds>& ends);
  std::int32_t take_with_views(ValueId v, std::int32_t index);
  bool next_link(std::int32_t n, std::int32_t index, Link& link) const;
  std::int32_t leads_to(ValueId v) const { return leads_to_[static_cast<std::size_t>(v)]; }
  bool held_by(ValueId v, std::int32_t index) const { return holder_[static_cast<std::size_t>(v)] == index; }

  const ir::Graph& graph_;
  const ir::Readers& readers_;
  const std::vector<std::int32_t>& last_use_;
  const std::map<std::int32_t, InPlacePairs>& scan_pairs_;
  std::vector<std::int32_t> leads_to_;  // by value: the chain whose end it may reach through in-place results, or -1
  std::vector<std::int32_t> holder_;    // by value: the chain being followed whose memory it uses, or -1
};

// Whether the node has both members of a schema's pair: absent trailing operands are omitted, and so are the results that
// belong to them.
bool has_both(const Node& node, int result, int operand) {
  return static_cast<std::size_t>(operand) < node.inputs.size() && static_cast<std::size_t>(result) < node.outputs.size();
}

void ChainFinder::mark_ways(const std::vector<ChainEnds>& ends) {
  const auto mark = [&](ValueId v, std::int32_t index) {
    if (v != kNone && leads_to(v) < 0) leads_to_[static_cast<std::size_t>(v)] = index;
  };
  for (std::size_t i = 0; i < ends.size(); ++i) mark(ends[i].to, static_cast<std::int32_t>(i));
  for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
    const Node& node = graph_.nodes[n];
    if (node.op->view) mark(node.inputs[0], leads_to(node.outputs[0]));
    for (const auto& [result, operand] : in_place_pairs(node, static_cast<std::int32_t>(n), scan_pairs_)) {
      if (!has_both(node, result, operand)) continue;
      const ValueId to = node.outputs[static_cast<std::size_t>(result)];
      mark(node.inputs[static_cast<std::size_t>(operand)], leads_to(to));
    }
  }
}

// Adds `v` and all views of it to the chain's memory. Returns the position of their last reader.
std::int32_t ChainFinder::take_with_views(ValueId v, std::int32_t index) {
  std::vector<ValueId> names{v};
  std::int32_t last = -1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ValueId name = names[i];
    holder_[static_cast<std::size_t>(name)] = index;
    last = std::max(last, last_use_[static_cast<std::size_t>(name)]);
    for (std::int32_t reader : readers_.of(name)) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(reader)];
      if (node.op->view) names.push_back(node.outputs[0]);
    }
  }
  return last;
}

// Finds the result with which node n may overwrite its only operand in the chain's memory.
bool ChainFinder::next_link(std::int32_t n, std::int32_t index, Link& link) const {
  const Node& node = graph_.nodes[static_cast<std::size_t>(n)];
  const auto held = [&](ValueId v) { return v != kNone && held_by(v, index); };
  if (std::count_if(node.inputs.begin(), node.inputs.end(), held) != 1) return false;
  for (const auto& [result, operand] : in_place_pairs(node, n, scan_pairs_)) {
    if (!has_both(node, result, operand)) continue;
    link = {node.outputs[static_cast<std::size_t>(result)], node.inputs[static_cast<std::size_t>(operand)]};
    if (held(link.operand) && leads_to(link.result) == index && graph_.type(link.result) == graph_.type(link.operand))
      return true;
  }
  return false;
}

std::vector<Link> ChainFinder::find(const ChainEnds& ends, std::int32_t index) {
  std::vector<Link> links;
  if (ends.to == kNone || leads_to(ends.to) != index || leads_to(ends.from) != index) return {};
  const auto end = static_cast<std::int32_t>(graph_.nodes.size());
  std::int32_t last = take_with_views(ends.from, index);
  while (!held_by(ends.to, index)) {
    Link link{kNone, kNone};
    if (last < 0 || last >= end || !next_link(last, index, link)) return {};
    links.push_back(link);
    last = take_with_views(link.result, index);
  }
  return links;
}

}  // namespace

InPlacePairs in_place_pairs(const ir::Node& node, std::int32_t index, const std::map<std::int32_t, InPlacePairs>& scan_pairs) {
  if (!ir::is_scan(node)) return node.op->in_place_pairs(node.attributes);
  const auto it = scan_pairs.find(index);
  return it == scan_pairs.end() ? InPlacePairs() : it->second;
}

InPlaceChains find_in_place_chains(const ir::Graph& graph, const ir::Readers& readers,
                                   const std::vector<std::int32_t>& last_use,
                                   const std::map<std::int32_t, InPlacePairs>& scan_pairs, const std::vector<ChainEnds>& ends) {
  ChainFinder finder(graph, readers, last_use, scan_pairs, ends);
  InPlaceChains chains;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (const Link& link : finder.find(ends[i], static_cast<std::int32_t>(i))) chains.over.emplace(link.result, link.operand);
  }
  return chains;
}

}  // namespace graphrun
