#include "compiler/probes.h"

#include <algorithm>
#include <map>

#include "compiler/ir/builder.h"
#include "compiler/rewrite/rewrite.h"

namespace graphrun {
namespace {

using ir::ValueId;

// A probe of a region: the value there that is added, by name because rewriting renumbers values.
struct PlacedProbe {
  std::string of, name;
};

ValueId value_named(const ir::Graph& graph, const std::string& name) {
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].name == name) return static_cast<ValueId>(v);
  }
  throw InternalError("add_probes: '" + name + "' is gone");
}

class Prober {
 public:
  Prober(ir::Graph& graph, bool root, const ProbeChoice& choose) : graph_(graph), root_(root), choose_(choose) {}

  // In a body, the probes are its last inputs, in this order.
  std::vector<PlacedProbe> run(std::size_t states) {
    const std::vector<ValueId> chosen = choose_(graph_, states);
    Rebuild rebuild(graph_);
    builder_ = &rebuild.builder();
    for (const ir::Input& input : std::vector<ir::Input>(graph_.inputs)) {
      if (std::find(chosen.begin(), chosen.end(), input.value) != chosen.end()) tap(input.value);
    }
    for (ir::Node& node : rebuild.old_nodes()) {
      for (ValueId& input : node.inputs) input = read(input);
      if (ir::is_scan(node)) probe_scan(node);
      const std::vector<ValueId> outputs = node.outputs;
      rebuild.keep(std::move(node));
      for (const ValueId output : outputs) {
        if (std::find(chosen.begin(), chosen.end(), output) != chosen.end()) tap(output);
      }
    }
    for (ir::Output& output : graph_.outputs) output.value = read(output.value);
    for (ir::Variable& variable : graph_.variables) variable.next = read(variable.next);
    rebuild.finish();
    return std::move(placed_);
  }

 private:
  ValueId read(ValueId v) const {
    const auto sum = sums_.find(v);
    return sum == sums_.end() ? v : sum->second;
  }

  // Zeros of that type in the root, else an input.
  ValueId source(const std::string& of, const ir::TensorType& type) {
    const std::string name = builder_->unique("probe." + of);
    ValueId value = ir::kNone;
    if (root_) {
      builder_->set_name(name);
      value = builder_->zeros(type);
    } else {
      value = builder_->input(name, type);
    }
    placed_.push_back({of, graph_.value(value).name});
    return value;
  }

  void tap(ValueId value) {
    const std::string of = graph_.value(value).name;
    const ValueId probe = source(of, graph_.type(value));
    builder_->set_name("probed." + of);
    sums_[value] = builder_->op("add", {value, probe});
  }

  // Probes of the body become further sequences of the scan.
  void probe_scan(ir::Node& scan) {
    const ir::ScanLayout layout = ir::scan_layout(scan);
    ir::Graph& body = scan.regions[0];
    const std::size_t before = body.inputs.size();
    const std::vector<PlacedProbe> inner = Prober(body, false, choose_).run(layout.states);
    if (inner.empty()) return;
    const auto behind_each = static_cast<std::ptrdiff_t>(layout.invariant_begin());
    std::rotate(body.inputs.begin() + behind_each, body.inputs.begin() + static_cast<std::ptrdiff_t>(before),
                body.inputs.end());
    std::vector<ValueId> sequences;
    for (const PlacedProbe& probe : inner) {
      ir::TensorType type = body.type(value_named(body, probe.name));
      type.shape.insert(type.shape.begin(), scan.attributes.dim("steps"));
      sequences.push_back(source(probe.of, type));
    }
    scan.inputs.insert(scan.inputs.begin() + behind_each, sequences.begin(), sequences.end());
    const auto sequences_before = static_cast<std::int64_t>(layout.each);
    scan.attributes.set("each", sequences_before + static_cast<std::int64_t>(inner.size()));
  }

  ir::Graph& graph_;
  const bool root_;
  const ProbeChoice& choose_;
  ir::Builder* builder_ = nullptr;
  std::map<ValueId, ValueId> sums_;
  std::vector<PlacedProbe> placed_;
};

}  // namespace

std::vector<Probe> add_probes(ir::Graph& root, const ProbeChoice& choose) {
  std::vector<Probe> probes;
  for (const PlacedProbe& placed : Prober(root, true, choose).run(0))
    probes.push_back({placed.of, value_named(root, placed.name)});
  return probes;
}

}  // namespace graphrun
