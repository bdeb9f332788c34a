// What a scan's forward body saves for its backward body, and what the backward body recomputes.
#pragma once

#include <set>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/tape_decision.h"

namespace graphrun {

// Whether a value of a body is as cheap to recompute as to save: constants, and pointwise work on values that are the same at
// every step. `nodes`: the number of nodes of the forward part, which come first.
class Recomputable {
 public:
  Recomputable(const ir::Graph& body, std::size_t nodes, const ir::ScanLayout& layout);
  bool operator()(ir::ValueId v) const {
    return v == ir::kNone || (static_cast<std::size_t>(v) < is_.size() && is_[static_cast<std::size_t>(v)] != 0);
  }

 private:
  std::vector<char> is_;  // by value
};

// The operands of a step's pointwise work: products and states. If the backward body reads many results of that work, saving
// the operands and recomputing the results takes less memory: for an ATR layer p, q and h instead of p, h and two gates.
class Sources {
 public:
  Sources(const ir::Graph& body, std::size_t nodes, const ir::ScanLayout& layout, const Recomputable& again);

  // `wanted` with pointwise results replaced by their sources if that takes less memory. Adds the nodes to recompute to
  // `recomputed`, and values that are saved only for them to `instead`.
  std::set<ir::ValueId> instead_of(const std::set<ir::ValueId>& wanted, std::set<std::size_t>& recomputed,
                                   std::set<ir::ValueId>& instead) const;

 private:
  bool is_on_state(ir::ValueId v) const { return on_state_[static_cast<std::size_t>(v)] != 0; }
  // Whether saving v for every step takes memory: slices of sequences are in memory anyway.
  bool takes_memory(ir::ValueId v) const;
  // Pointwise work that depends on a state. Other work can run for all steps at once, before the loop.
  bool is_work(ir::ValueId v) const;

  // Results that must be decided together, since they share sources or work.
  struct Group {
    std::set<ir::ValueId> results, sources;  // sources: those not saved in any case
    std::set<std::size_t> work;              // nodes between them
    void join(const Group& other);
  };
  bool meet(const Group& a, const Group& b) const;
  Group group_of(ir::ValueId result, const std::set<ir::ValueId>& saved) const;
  bool is_worth_it(const Group& group) const;

  const ir::Graph& body_;
  const Recomputable& again_;
  std::vector<char> on_state_;  // by value
};

}  // namespace graphrun
