// The memory plan for people, as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "compiler/memory.h"
#include "runtime/program/arena.h"

namespace graphrun {
namespace {

std::string_view name_of(StateSpec::Mode mode) {
  switch (mode) {
    case StateSpec::Mode::kAlternate: return "by turns";
    case StateSpec::Mode::kInPlace: return "in place";
    case StateSpec::Mode::kStacked: return "off the stack";
  }
  return "?";
}

std::string byte_text(const ir::TensorType& type, Precision precision) {
  const auto size = static_cast<std::int64_t>(size_of(concrete(type.type, precision)));
  return (element_count(type.shape) * Dim(size)).str();
}

// "variable embedding", "fetch loss": the contents of a root's slot.
std::string root_slot(const ir::Graph& graph, std::size_t slot) {
  if (slot < graph.variables.size()) return "variable " + graph.value(graph.variables[slot].value).name;
  slot -= graph.variables.size();
  if (slot < graph.inputs.size()) return "feed " + graph.value(graph.inputs[slot].value).name;
  return "fetch " + graph.outputs[slot - graph.inputs.size()].name;
}

std::string body_slot(const ir::Graph& graph, const ScanSlots& slots, std::size_t slot) {
  using Role = ScanSlots::Role;
  const auto [role, index] = slots.at(slot);
  if (role == Role::kNextState) return "next state " + graph.outputs[index].name;
  if (role == Role::kStack) return "stack " + graph.outputs[slots.stack_output(index)].name;
  return (role == Role::kState ? "state " : "operand ") + graph.value(graph.inputs[slot].value).name;
}

class Describer {
 public:
  explicit Describer(Precision precision) : precision_(precision) {}

  void region(const ir::Graph& graph, const RegionPlan& plan, const ScanSlots* slots, const std::string& indent);
  std::string take() { return std::move(text_); }

 private:
  std::string storage(const ir::Graph& graph, const RegionPlan& plan, const ScanSlots* slots, Storage where) const {
    const auto index = static_cast<std::size_t>(std::max(where.index, 0));
    switch (where.kind) {
      case Storage::Kind::kNone: return "nowhere";
      case Storage::Kind::kBlock:
        return fmt::format("block {} [{}, {}]", index, plan.blocks[index].first, plan.blocks[index].last);
      case Storage::Kind::kSlot: return slots == nullptr ? root_slot(graph, index) : body_slot(graph, *slots, index);
    }
    return "?";
  }
  template <class... Args>
  void line(const std::string& indent, fmt::format_string<Args...> format, Args&&... args) {
    text_ += indent;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  Precision precision_;
  std::string text_;
};

void Describer::region(const ir::Graph& graph, const RegionPlan& plan, const ScanSlots* slots, const std::string& indent) {
  const auto value = [&](ir::ValueId v) {
    const ir::TensorType& type = graph.type(v);
    line(indent, "  %{}: {} {}, {} bytes", graph.value(v).name, type.str(),
         storage(graph, plan, slots, plan.values[static_cast<std::size_t>(v)]), byte_text(type, precision_));
  };
  for (const ir::Variable& variable : graph.variables) value(variable.value);
  for (const ir::Input& input : graph.inputs) value(input.value);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    for (ir::ValueId v : node.outputs) {
      text_ += fmt::format("{}{:>4}", indent, n);
      value(v);
    }
    const auto scan = plan.scans.find(static_cast<std::int32_t>(n));
    if (scan == plan.scans.end()) continue;
    const ir::Graph& body = node.regions[0];
    line(indent, "      body:");
    for (std::size_t s = 0; s < scan->second.states.size(); ++s) {
      line(indent, "        state %{}: {}", body.value(body.inputs[s].value).name, name_of(scan->second.states[s].mode));
    }
    const ScanSlots inner = slots_of(ir::scan_layout(node));
    region(body, scan->second.body, &inner, indent + "      ");
  }
  for (const CopyPlan& copy : plan.copies) {
    line(indent, "  at the end %{} is copied to {}{}", graph.value(copy.from).name,
         storage(graph, plan, slots, {Storage::Kind::kSlot, copy.slot}),
         copy.staging_block < 0 ? "" : fmt::format(", through block {}", copy.staging_block));
  }
}

}  // namespace

std::string describe(const MemoryPlan& plan, const ir::Graph& graph, Precision precision) {
  Describer describer(precision);
  describer.region(graph, plan.root, nullptr, "");
  return describer.take();
}

}  // namespace graphrun
