// What a scan's forward body hands to its backward body, and what that makes again for itself.
#pragma once

#include <set>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/tape_decision.h"

namespace graphrun {

// Whether a value of a body is as cheap to make again as to keep: constants, and pointwise work on what is the same at every
// step. `nodes`: those of the forward part, which come first.
class Recomputable {
 public:
  Recomputable(const ir::Graph& body, std::size_t nodes, const ir::ScanLayout& layout);
  bool operator()(ir::ValueId v) const {
    return v == ir::kNone || (static_cast<std::size_t>(v) < is_.size() && is_[static_cast<std::size_t>(v)] != 0);
  }

 private:
  std::vector<char> is_;  // by value
};

// What a step's pointwise work is made of: products and states. Where the backward body reads many results of that work, it is
// less to keep what they are made of and to make them again: of an ATR layer p, q and h instead of p, h and two gates.
class Sources {
 public:
  Sources(const ir::Graph& body, std::size_t nodes, const ir::ScanLayout& layout, const Recomputable& again);

  // `wanted` with pointwise results replaced by their sources, where that keeps less; what has to be made again joins `remade`,
  // and what is kept only for that `instead`.
  std::set<ir::ValueId> instead_of(const std::set<ir::ValueId>& wanted, std::set<std::size_t>& remade,
                                   std::set<ir::ValueId>& instead) const;

 private:
  bool is_on_state(ir::ValueId v) const { return on_state_[static_cast<std::size_t>(v)] != 0; }
  // Whether keeping v for every step takes memory: slices of sequences lie there anyway.
  bool takes_memory(ir::ValueId v) const;
  // Pointwise work on a state; what no state reaches can be made for all steps at once, before the loop.
  bool is_work(ir::ValueId v) const;

  // Results that have to be decided together, since they share what would be kept or made again instead.
  struct Group {
    std::set<ir::ValueId> results, sources;  // sources: that are not kept in any case
    std::set<std::size_t> work;              // nodes between them
    void join(const Group& other);
  };
  bool meet(const Group& a, const Group& b) const;
  Group group_of(ir::ValueId result, const std::set<ir::ValueId>& kept) const;
  bool is_worth_it(const Group& group) const;

  const ir::Graph& body_;
  const Recomputable& again_;
  std::vector<char> on_state_;  // by value
};

}  // namespace graphrun
