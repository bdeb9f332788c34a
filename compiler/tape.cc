#include "compiler/tape.h"

#include <algorithm>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/ir/shape_order.h"

namespace graphrun {
namespace {

std::string bytes_of(const std::vector<TapeDecision::Value>& values, const Dim& steps, Precision precision) {
  Dim sum(0);
  for (const TapeDecision::Value& v : values) {
    const auto size = static_cast<std::int64_t>(size_of(concrete(v.type.type, precision)));
    sum = sum + element_count(v.type.shape) * Dim(size);
  }
  return (sum * steps).str() + " bytes";
}

std::string names_of(const std::vector<TapeDecision::Value>& values) {
  std::string out;
  for (const TapeDecision::Value& v : values) out += (out.empty() ? "" : ", ") + v.name;
  return out;
}

}  // namespace

std::string describe(const TapeDecision& d, Precision precision) {
  std::string out = d.scan + (d.kept.empty() ? " keeps nothing" : " keeps " + names_of(d.kept) + ": ");
  if (!d.kept.empty()) out += bytes_of(d.kept, d.steps, precision);
  if (!d.remade.empty()) out += "; makes again " + names_of(d.remade) + ": saves " + bytes_of(d.remade, d.steps, precision);
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

std::set<ValueId> Sources::instead_of(const std::set<ValueId>& wanted, std::set<std::size_t>& remade) {
  std::set<ValueId> kept, results;
  for (ValueId v : wanted) (is_work(v) ? results : kept).insert(v);
  std::set<ValueId> all = kept;
  for (ValueId v : results) collect(v, all);
  if (results.empty() || !is_worth_it(kept, results, all)) return wanted;
  remade.insert(work_.begin(), work_.end());
  return all;
}

bool Sources::is_work(ValueId v) const {
  const std::int32_t n = body_.value(v).node;
  if (n < 0 || !is_on_state(v)) return false;
  const ir::OpSchema& op = *body_.nodes[static_cast<std::size_t>(n)].op;
  return (op.pointwise || op.view) && !op.random;
}

void Sources::collect(ValueId root, std::set<ValueId>& sources) {
  std::vector<ValueId> stack = {root};
  while (!stack.empty()) {
    const ValueId v = stack.back();
    stack.pop_back();
    if (v == kNone) continue;
    const std::int32_t n = body_.value(v).node;
    if (n >= 0 && (is_work(v) || again_(v))) {
      if (!work_.insert(static_cast<std::size_t>(n)).second) continue;
      for (ValueId x : body_.nodes[static_cast<std::size_t>(n)].inputs) stack.push_back(x);
    } else {
      sources.insert(v);
    }
  }
}

// Everything new must take the place of a result at least as large, and of what is as large as before a third less is kept
// than is made again: sigmoids take time too. What is smaller than its results (scores of all pairs of labels are made of two
// labels' scores) is always less to keep.
bool Sources::is_worth_it(const std::set<ValueId>& kept, const std::set<ValueId>& results, const std::set<ValueId>& all) const {
  std::vector<ir::TensorType> freed;
  for (ValueId v : results) freed.push_back(body_.type(v));
  std::vector<ir::TensorType> smaller;
  int equal = 0;
  for (ValueId v : all) {
    if (kept.count(v) != 0 || !is_on_state(v)) continue;
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
      return f.type == type.type && ir::is_smaller(type.shape, f.shape);
    });
    if (larger == freed.end()) return false;
    freed.erase(larger);
  }
  return 3 * equal <= 2 * static_cast<int>(results.size());
}

}  // namespace graphrun
