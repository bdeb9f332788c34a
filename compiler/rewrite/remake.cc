#include "compiler/rewrite/remake.h"

#include <algorithm>
#include <set>

#include "compiler/ir/op.h"
#include "compiler/rewrite/shape_order.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ValueId;

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
    if (!cheap || node.op->random || !can_lift(body_, node, d_, steps_)) {
      if (!is_smaller(body_.type(v).shape, shape_)) return false;
      sources_.push_back(v);
      return true;
    }
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
