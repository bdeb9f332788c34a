#include "compiler/passes/remake.h"

#include <algorithm>
#include <set>

#include "compiler/ir/op.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ValueId;

// Whether `small` has less elements than `large`, whatever the batch's sizes: its sizes are some of the other's.
bool is_smaller(const Shape& small, const Shape& large) {
  std::vector<Dim> left = large;
  for (const Dim& d : small) {
    if (d == Dim(1)) continue;
    const auto at = std::find(left.begin(), left.end(), d);
    if (at == left.end()) return false;
    left.erase(at);
  }
  return std::any_of(left.begin(), left.end(), [](const Dim& d) { return d != Dim(1); });
}

class Search {
 public:
  Search(const Node& scan, const BodyDependence& dependence, ValueId v)
      : body_(scan.regions[0]), d_(dependence), steps_(scan.attributes.dim("steps")), shape_(body_.type(v).shape) {}

  bool visit(ValueId v) {
    if (v == kNone || !seen_.insert(v).second) return true;
    if (d_.on_state[static_cast<std::size_t>(v)] && is_smaller(body_.type(v).shape, shape_)) {
      sources_.push_back(v);
      return true;
    }
    const std::int32_t n = body_.value(v).node;
    if (n < 0) return !d_.on_state[static_cast<std::size_t>(v)];  // a slice, or the same at every step
    const Node& node = body_.nodes[static_cast<std::size_t>(n)];
    const bool cheap = node.inputs.empty() || node.op->pointwise || node.op->view;
    if (!cheap || node.op->random || !can_lift(body_, node, d_, steps_)) return false;
    nodes_.insert(static_cast<std::size_t>(n));
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId x) { return visit(x); });
  }

  Remake found() { return {{nodes_.begin(), nodes_.end()}, std::move(sources_)}; }

 private:
  const ir::Graph& body_;
  const BodyDependence& d_;
  const Dim steps_;
  const Shape& shape_;
  std::set<ValueId> seen_;
  std::set<std::size_t> nodes_;
  std::vector<ValueId> sources_;
};

}  // namespace

std::optional<Remake> remake_of(const Node& scan, const BodyDependence& dependence, ValueId v) {
  const std::int32_t n = v == kNone ? -1 : scan.regions[0].value(v).node;
  if (n < 0 || !scan.regions[0].nodes[static_cast<std::size_t>(n)].op->pointwise) return std::nullopt;
  Search search(scan, dependence, v);
  if (!search.visit(v)) return std::nullopt;
  return search.found();
}

}  // namespace graphrun
