#include "compiler/tape.h"

#include <algorithm>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/rewrite/shape_order.h"

namespace graphrun {
namespace {

Dim bytes_of_values(const std::vector<TapeDecision::TapedValue>& values, Precision precision) {
  Dim sum(0);
  for (const TapeDecision::TapedValue& v : values) {
    const auto size = static_cast<std::int64_t>(size_of(concrete(v.type.type, precision)));
    sum = sum + element_count(v.type.shape) * Dim(size);
  }
  return sum;
}

std::string names_of(const std::vector<TapeDecision::TapedValue>& values) {
  std::string out;
  for (const TapeDecision::TapedValue& v : values) out += (out.empty() ? "" : ", ") + v.name;
  return out;
}

}  // namespace

Dim kept_bytes(const TapeDecision& decision, Precision precision) { return bytes_of_values(decision.saved, precision); }

std::string describe(const TapeDecision& d, Precision precision) {
  std::string out = d.scan + (d.saved.empty() ? " keeps nothing" : " keeps " + names_of(d.saved) + ": ");
  const auto in_all = [&](const Dim& bytes) { return (bytes * d.steps).str() + " bytes"; };
  if (!d.saved.empty()) out += in_all(kept_bytes(d, precision));
  if (!d.recomputed.empty()) {
    const Dim saved = bytes_of_values(d.recomputed, precision) - bytes_of_values(d.instead, precision);
    out += "; recomputes " + names_of(d.recomputed) + ": saves " + in_all(saved);
  }
  return out;
}

using ir::Graph;
using ir::kNone;
using ir::Node;
using ir::ScanLayout;
using ir::ValueId;

Recomputable::Recomputable(const Graph& body, std::size_t nodes, const ScanLayout& layout) : is_(body.values.size(), 0) {
  for (std::size_t i = layout.invariant_begin(); i < body.inputs.size(); ++i) {
    is_[static_cast<std::size_t>(body.inputs[i].value)] = 1;
  }
  for (std::size_t n = 0; n < nodes; ++n) {
    const Node& node = body.nodes[n];
    const bool cheap = !is_scan(node) && !node.op->random && (node.inputs.empty() || node.op->pointwise || node.op->view);
    if (!cheap || !std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId x) { return (*this)(x); })) continue;
    for (ValueId y : node.outputs) is_[static_cast<std::size_t>(y)] = 1;
  }
}

Sources::Sources(const Graph& body, std::size_t nodes, const ScanLayout& layout, const Recomputable& again)
    : body_(body), again_(again), on_state_(body.values.size(), 0) {
  for (std::size_t s = 0; s < layout.states; ++s) on_state_[static_cast<std::size_t>(body.inputs[s].value)] = 1;
  for (std::size_t n = 0; n < nodes; ++n) {
    for (ValueId v : body.nodes[n].inputs) {
      if (v == kNone || !is_on_state(v)) continue;
      for (ValueId y : body.nodes[n].outputs) on_state_[static_cast<std::size_t>(y)] = 1;
    }
  }
}

std::set<ValueId> Sources::instead_of(const std::set<ValueId>& wanted, std::set<std::size_t>& recomputed,
                                      std::set<ValueId>& instead) const {
  std::set<ValueId> saved;
  for (ValueId v : wanted) {
    if (!is_work(v)) saved.insert(v);
  }
  std::vector<Group> groups;
  for (ValueId v : wanted) {
    if (!is_work(v)) continue;
    Group group = group_of(v, saved);
    std::erase_if(groups, [&](const Group& other) {
      const bool together = meet(group, other);
      if (together) group.join(other);
      return together;
    });
    groups.push_back(std::move(group));
  }
  for (const Group& group : groups) {
    const bool again = is_worth_it(group);
    const std::set<ValueId>& values = again ? group.sources : group.results;
    saved.insert(values.begin(), values.end());
    if (!again) continue;
    recomputed.insert(group.work.begin(), group.work.end());
    for (ValueId v : group.sources) {
      if (takes_memory(v)) instead.insert(v);
    }
  }
  return saved;
}

// A value that does not depend on a state (such as a product of the input) does not connect two groups, although each group
// that saves it pays for it.
bool Sources::meet(const Group& a, const Group& b) const {
  const auto of_both = [&](ValueId v) { return is_on_state(v) && b.sources.count(v) != 0; };
  const auto by_both = [&](std::size_t n) { return is_on_state(body_.nodes[n].outputs[0]) && b.work.count(n) != 0; };
  return std::any_of(a.sources.begin(), a.sources.end(), of_both) || std::any_of(a.work.begin(), a.work.end(), by_both);
}

void Sources::Group::join(const Group& other) {
  results.insert(other.results.begin(), other.results.end());
  sources.insert(other.sources.begin(), other.sources.end());
  work.insert(other.work.begin(), other.work.end());
}

// Products that do not depend on a state are computed before the loop; if they are saved for backward, they must outlive it.
bool Sources::takes_memory(ValueId v) const { return is_on_state(v) || body_.value(v).node >= 0; }

bool Sources::is_work(ValueId v) const {
  const std::int32_t n = body_.value(v).node;
  if (n < 0 || !is_on_state(v)) return false;
  const ir::OpSchema& op = *body_.nodes[static_cast<std::size_t>(n)].op;
  return (op.pointwise || op.view) && !op.random;
}

Sources::Group Sources::group_of(ValueId result, const std::set<ValueId>& saved) const {
  Group group;
  group.results = {result};
  std::vector<ValueId> stack = {result};
  while (!stack.empty()) {
    const ValueId v = stack.back();
    stack.pop_back();
    if (v == kNone || saved.count(v) != 0) continue;
    const std::int32_t n = body_.value(v).node;
    if (n >= 0 && (is_work(v) || again_(v))) {
      if (!group.work.insert(static_cast<std::size_t>(n)).second) continue;
      for (ValueId x : body_.nodes[static_cast<std::size_t>(n)].inputs) stack.push_back(x);
    } else {
      group.sources.insert(v);
    }
  }
  return group;
}

// Each source that takes memory must replace a result of at least its size. If the sizes are equal, two sources must replace at
// least three results, because recomputing sigmoids takes time too. Sources that are smaller than their results are always
// saved instead: the scores of all pairs of labels come from the scores of labels, those of attention from a query and the
// keys.
bool Sources::is_worth_it(const Group& group) const {
  std::vector<ir::TensorType> freed;
  for (ValueId v : group.results) freed.push_back(body_.type(v));
  std::vector<ir::TensorType> smaller;
  int equal = 0;
  for (ValueId v : group.sources) {
    if (!takes_memory(v)) continue;
    const auto same = std::find(freed.begin(), freed.end(), body_.type(v));
    if (same == freed.end()) {
      smaller.push_back(body_.type(v));
    } else {
      freed.erase(same);
      ++equal;
    }
  }
  for (const ir::TensorType& type : smaller) {
    const auto larger = std::find_if(freed.begin(), freed.end(), [&](const ir::TensorType& f) {
      return f.type == type.type && is_smaller(type.shape, f.shape);
    });
    if (larger == freed.end()) return false;
    freed.erase(larger);
  }
  return 3 * equal <= 2 * static_cast<int>(group.results.size());
}

}  // namespace graphrun
