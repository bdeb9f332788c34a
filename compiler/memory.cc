#include "compiler/memory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/ir/readers.h"
#include "compiler/memory_chains.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ValueId;

// Values that share memory.
struct Sharing {
  ValueId of = kNone;                // the first value
  std::int32_t first = 0, last = 0;  // positions of the first and last use
  std::int32_t joined_at = -1;       // the last node that overwrote it
  Storage home;                      // kNone until placed; what is left gets a block of its own
};

constexpr Storage slot(std::size_t index) { return {Storage::Kind::kSlot, static_cast<std::int32_t>(index)}; }

// How a region relates to the enclosing one.
struct RegionRole {
  bool is_body = false;
  ScanSlots slots;           // for a body
  std::vector<bool> needed;  // by output of a body: whether it is a state or has a reader
};

class RegionPlanner {
 public:
  RegionPlanner(const ir::Graph& graph, const RegionRole& role, const MemoryOptions& options)
      : graph_(graph),
        role_(role),
        options_(options),
        end_(static_cast<std::int32_t>(graph.nodes.size())),
        readers_(graph),
        sharing_of_(graph.values.size(), -1) {}

  // Returns the plan and, for a body, how its states pass from step to step.
  std::pair<RegionPlan, std::vector<StateSpec>> run() {
    find_last_uses();
    plan_bodies();
    if (options_.reuse) chains_ = find_in_place_chains(graph_, readers_, last_use_, scan_pairs_, chain_ends());
    give_operands_slots();
    for (std::int32_t n = 0; n < end_; ++n) share_results(n);
    if (role_.is_body) {
      place_body_outputs();
    } else {
      place_root_outputs();
    }
    place_blocks();
    return {std::move(plan_), std::move(states_)};
  }

 private:
  const Node& node(std::int32_t n) const { return graph_.nodes[static_cast<std::size_t>(n)]; }
  std::int32_t& last_use(ValueId v) { return last_use_[static_cast<std::size_t>(v)]; }
  Sharing& sharing(ValueId v) { return sharings_[static_cast<std::size_t>(sharing_of_[static_cast<std::size_t>(v)])]; }
  bool is_placed(ValueId v) { return sharing(v).home.kind != Storage::Kind::kNone; }

  void find_last_uses();
  void plan_bodies();
  std::vector<ChainEnds> chain_ends() const;
  void give_operands_slots();
  void begin_sharing(ValueId v, std::int32_t first, Storage home);
  void join(ValueId v, ValueId with, std::int32_t at);
  void share_results(std::int32_t n);
  ValueId in_place_operand(std::int32_t n, std::size_t result);
  bool is_read_concurrently(std::int32_t n, ValueId operand);
  bool has_no_memory(std::int32_t n, std::size_t result);
  void place_body_outputs();
  void place_root_outputs();
  void place_variable(std::size_t index);
  bool place(ValueId v, std::size_t slot_index);
  void copy_at_end(ValueId v, std::size_t slot_index, bool staged = false);
  void place_blocks();

  const ir::Graph& graph_;
  const RegionRole& role_;
  const MemoryOptions& options_;
  const std::int32_t end_;  // the position of the copies at the end
  ir::Readers readers_;
  std::vector<std::int32_t> last_use_;               // by value; its definition if it is unread
  std::map<std::int32_t, InPlacePairs> scan_pairs_;  // by node: (final, initial) states that a scan updates in place
  InPlaceChains chains_;
  std::vector<std::int32_t> sharing_of_;  // by value; -1: no memory
  std::vector<Sharing> sharings_;
  RegionPlan plan_;
  std::vector<StateSpec> states_;
};

void RegionPlanner::find_last_uses() {
  last_use_.resize(graph_.values.size());
  for (std::size_t v = 0; v < graph_.values.size(); ++v) {
    const auto readers = readers_.of(static_cast<ValueId>(v));
    last_use_[v] = readers.empty() ? graph_.values[v].node : readers.back();
  }
  for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
    if (!role_.is_body || role_.needed[o]) last_use(graph_.outputs[o].value) = end_;
  }
  for (const ir::Variable& variable : graph_.variables) {
    if (variable.next != kNone) last_use(variable.next) = end_;
  }
}

void RegionPlanner::plan_bodies() {
  for (std::int32_t n = 0; n < end_; ++n) {
    if (!ir::is_scan(node(n))) continue;
    RegionRole role{true, slots_of(ir::scan_layout(node(n))), {}};
    for (std::size_t o = 0; o < node(n).outputs.size(); ++o) {
      role.needed.push_back(o < role.slots.states || last_use(node(n).outputs[o]) > n);
    }
    auto [body, states] = RegionPlanner(node(n).regions[0], role, options_).run();
    for (std::size_t s = 0; s < states.size(); ++s) {
      const auto index = static_cast<int>(s);
      if (states[s].mode == StateSpec::Mode::kInPlace) scan_pairs_[n].emplace_back(index, index);
    }
    plan_.scans.emplace(n, ScanMemory{std::move(states), std::move(body)});
  }
}

// The values to update in place: variables, and states of a scan. Stacked states are excluded: each step reads the state in the
// stack, where the previous step wrote it anyway.
std::vector<ChainEnds> RegionPlanner::chain_ends() const {
  std::vector<ChainEnds> ends;
  if (!role_.is_body) {
    for (const ir::Variable& variable : graph_.variables) ends.push_back({variable.value, variable.next});
    return ends;
  }
  std::vector<char> stacked(graph_.values.size(), 0);
  for (std::size_t o = role_.slots.states; o < graph_.outputs.size(); ++o) {
    if (role_.needed[o]) stacked[static_cast<std::size_t>(graph_.outputs[o].value)] = 1;
  }
  for (std::size_t s = 0; s < role_.slots.states; ++s) {
    const ValueId after = graph_.outputs[s].value;
    ends.push_back({graph_.inputs[s].value, stacked[static_cast<std::size_t>(after)] ? kNone : after});
  }
  return ends;
}

void RegionPlanner::give_operands_slots() {
  std::size_t next = 0;
  for (const ir::Variable& variable : graph_.variables) begin_sharing(variable.value, -1, slot(next++));
  for (const ir::Input& input : graph_.inputs) begin_sharing(input.value, -1, slot(next++));
  plan_.slots = static_cast<std::int32_t>(next + graph_.outputs.size());
}

void RegionPlanner::begin_sharing(ValueId v, std::int32_t first, Storage home) {
  sharing_of_[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(sharings_.size());
  sharings_.push_back({v, first, std::max(first, last_use(v)), first, home});
}

void RegionPlanner::join(ValueId v, ValueId with, std::int32_t at) {
  sharing_of_[static_cast<std::size_t>(v)] = sharing_of_[static_cast<std::size_t>(with)];
  Sharing& s = sharing(v);
  s.last = std::max(s.last, last_use(v));
  s.joined_at = at;
}

void RegionPlanner::share_results(std::int32_t n) {
  const Node& made = node(n);
  for (std::size_t o = 0; o < made.outputs.size(); ++o) {
    const ValueId v = made.outputs[o];
    if (has_no_memory(n, o)) continue;
    if (made.op->view && options_.reuse) {
      join(v, made.inputs[0], sharing(made.inputs[0]).joined_at);
    } else if (const ValueId operand = in_place_operand(n, o); operand != kNone) {
      join(v, operand, n);
    } else {
      begin_sharing(v, n, {});
    }
  }
}

// Whether a result of a scan needs no memory: it is an unread stack, or an unread final state that is kept in the stack.
bool RegionPlanner::has_no_memory(std::int32_t n, std::size_t result) {
  const auto scan = plan_.scans.find(n);
  if (scan == plan_.scans.end() || last_use(node(n).outputs[result]) > n) return false;
  const std::vector<StateSpec>& states = scan->second.states;
  return result >= states.size() || states[result].mode == StateSpec::Mode::kStacked;
}

// The operand that node n may overwrite with this result, or kNone.
ValueId RegionPlanner::in_place_operand(std::int32_t n, std::size_t result) {
  if (!options_.reuse) return kNone;
  const Node& made = node(n);
  const ValueId v = made.outputs[result];
  if (const auto link = chains_.over.find(v); link != chains_.over.end()) return link->second;
  for (const auto& [output, input] : in_place_pairs(made, n, scan_pairs_)) {
    if (output != static_cast<int>(result) || static_cast<std::size_t>(input) >= made.inputs.size()) continue;
    const ValueId operand = made.inputs[static_cast<std::size_t>(input)];
    if (operand == kNone || graph_.type(operand) != graph_.type(v)) continue;
    Sharing& s = sharing(operand);
    if (s.home.kind != Storage::Kind::kNone || s.last != n || s.joined_at == n) continue;
    const auto shares = [&](ValueId other) { return other != kNone && &sharing(other) == &s; };
    if (std::count_if(made.inputs.begin(), made.inputs.end(), shares) == 1 && !is_read_concurrently(n, operand)) return operand;
  }
  return kNone;
}

// Whether scans that may run concurrently with scan n (those right before it) read the operand that it would overwrite;
// overwriting would prevent them from running concurrently. The two directions of a layer often begin with the same zeros.
bool RegionPlanner::is_read_concurrently(std::int32_t n, ValueId operand) {
  if (role_.is_body || !ir::is_scan(node(n))) return false;
  const auto has = [](const std::vector<ValueId>& values, const auto& which) {
    return std::any_of(values.begin(), values.end(), which);
  };
  const auto steps = [&](std::int32_t scan) { return node(scan).attributes.dim("steps"); };
  for (std::int32_t before = n - 1; before >= 0 && n - before < static_cast<std::int32_t>(kMostConcurrent); --before) {
    if (!ir::is_scan(node(before)) || steps(before) != steps(n)) return false;
    const auto needed = [&](ValueId v) { return v != kNone && graph_.value(v).node == before; };
    if (has(node(n).inputs, needed)) return false;
    if (has(node(before).inputs, [&](ValueId v) { return v != kNone && &sharing(v) == &sharing(operand); })) return true;
  }
  return false;
}

// Places `v` in a slot. Returns false if it is placed elsewhere already.
bool RegionPlanner::place(ValueId v, std::size_t slot_index) {
  if (!options_.reuse || is_placed(v)) return false;
  sharing(v).home = slot(slot_index);
  return true;
}

void RegionPlanner::copy_at_end(ValueId v, std::size_t slot_index, bool staged) {
  std::int32_t block = -1;
  if (staged) {
    block = static_cast<std::int32_t>(plan_.blocks.size());
    plan_.blocks.push_back({graph_.type(v), end_, end_});
  }
  plan_.copies.push_back({v, static_cast<std::int32_t>(slot_index), block});
}

void RegionPlanner::place_body_outputs() {
  const ScanSlots& slots = role_.slots;
  std::map<std::int32_t, std::size_t> stack_of;  // by index of the sharing
  for (std::size_t i = 0; i < slots.stacks; ++i) {
    const std::size_t o = slots.stack_output(i);
    if (!role_.needed[o]) continue;
    const ValueId v = graph_.outputs[o].value;
    if (!place(v, slots.stack(i))) copy_at_end(v, slots.stack(i));
    stack_of.emplace(sharing_of_[static_cast<std::size_t>(v)], i);
  }
  for (std::size_t s = 0; s < slots.states; ++s) {
    const ValueId v = graph_.outputs[s].value;
    const auto stack = stack_of.find(sharing_of_[static_cast<std::size_t>(v)]);
    if (options_.reuse && sharing(v).home == slot(s)) {
      states_.push_back({StateSpec::Mode::kInPlace, -1});
    } else if (options_.reuse && stack != stack_of.end()) {
      states_.push_back({StateSpec::Mode::kStacked, static_cast<std::int32_t>(stack->second)});
    } else {
      if (!place(v, slots.next_state(s))) copy_at_end(v, slots.next_state(s));
      states_.push_back({StateSpec::Mode::kAlternate, static_cast<std::int32_t>(plan_.blocks.size())});
      plan_.blocks.push_back({graph_.type(v), 0, end_});
    }
  }
}

void RegionPlanner::place_root_outputs() {
  // Variables come first, without a copy where possible. Fetches are copied before variables, because they may be a variable's
  // old value.
  const std::size_t variables = graph_.variables.size(), first_fetch = variables + graph_.inputs.size();
  std::vector<std::size_t> to_copy;
  for (std::size_t i = 0; i < variables; ++i) {
    const ir::Variable& variable = graph_.variables[i];
    if (variable.next == kNone || sharing(variable.next).home == slot(i)) continue;
    // The buffer is free after the last reader of the old value.
    const bool free = sharing(variable.value).last < sharing(variable.next).first;
    if (!free || !place(variable.next, i)) to_copy.push_back(i);
  }
  for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
    const ValueId v = graph_.outputs[o].value;
    if (!place(v, first_fetch + o)) copy_at_end(v, first_fetch + o);
  }
  for (std::size_t i : to_copy) {
    const ValueId next = graph_.variables[i].next;
    const Storage home = sharing(next).home;
    const bool held_by_variable = home.kind == Storage::Kind::kSlot && static_cast<std::size_t>(home.index) < variables;
    copy_at_end(next, i, held_by_variable);
  }
}

void RegionPlanner::place_blocks() {
  for (Sharing& s : sharings_) {
    if (s.home.kind != Storage::Kind::kNone) continue;
    s.home = {Storage::Kind::kBlock, static_cast<std::int32_t>(plan_.blocks.size())};
    plan_.blocks.push_back({graph_.type(s.of), options_.reuse ? s.first : 0, options_.reuse ? s.last : end_});
  }
  plan_.values.resize(graph_.values.size());
  for (std::size_t v = 0; v < graph_.values.size(); ++v) {
    if (sharing_of_[v] >= 0) plan_.values[v] = sharings_[static_cast<std::size_t>(sharing_of_[v])].home;
  }
}

}  // namespace

MemoryPlan plan_memory(const ir::Graph& graph, const MemoryOptions& options) {
  return {RegionPlanner(graph, RegionRole{}, options).run().first};
}

}  // namespace graphrun
