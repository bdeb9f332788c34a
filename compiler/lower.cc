#include "compiler/lower.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/op.h"
#include "compiler/ir/roles.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;

Dim bytes_of(const ir::TensorType& type, Precision precision) {
  return element_count(type.shape) * Dim(static_cast<std::int64_t>(size_of(concrete(type.type, precision))));
}

VariableSpec variable_spec(const ir::Graph& graph, const ir::Variable& variable, Precision precision) {
  const ir::Value& value = graph.value(variable.value);
  VariableSpec spec;
  switch (variable.kind) {
    case ir::Variable::Kind::kParameter: spec.kind = VariableSpec::Kind::kParameter; break;
    case ir::Variable::Kind::kSlot: spec.kind = VariableSpec::Kind::kSlot; break;
    case ir::Variable::Kind::kState: spec.kind = VariableSpec::Kind::kState; break;
  }
  switch (variable.init.kind) {
    case ir::Initializer::Kind::kConstant: spec.init = VariableSpec::Init::kConstant; break;
    case ir::Initializer::Kind::kUniform: spec.init = VariableSpec::Init::kUniform; break;
    case ir::Initializer::Kind::kNormal: spec.init = VariableSpec::Init::kNormal; break;
    case ir::Initializer::Kind::kOrthogonal: spec.init = VariableSpec::Init::kOrthogonal; break;
    case ir::Initializer::Kind::kXavier: spec.init = VariableSpec::Init::kXavier; break;
  }
  spec.name = value.name;
  spec.dtype = concrete(value.type.type, precision);
  spec.shape = value.type.shape;
  const bool has_gain = spec.init == VariableSpec::Init::kOrthogonal || spec.init == VariableSpec::Init::kXavier;
  spec.init_amount = has_gain && variable.init.amount == 0 ? 1 : variable.init.amount;
  spec.init_declared = variable.init.declared;
  spec.trainable = variable.trainable;
  spec.at = variable.at;
  return spec;
}

class Lowering {
 public:
  explicit Lowering(Precision precision) : precision_(precision) {}

  // Appends the region, then the bodies of its scans. Returns the region's index.
  std::int32_t lower_region(const ir::Graph& graph, const RegionPlan& plan);
  std::vector<Region> take() { return std::move(regions_); }

 private:
  ValueSpec value_spec(const std::string& name, const ir::TensorType& type, Storage storage) const {
    return {name, concrete(type.type, precision_), type.shape, storage};
  }
  void append_copies(const ir::Graph& graph, const RegionPlan& plan, Region& region) const;
  static void find_concurrent(Region& region);

  Precision precision_;
  std::vector<Region> regions_;
};

Instruction instruction_of(const ir::Graph& graph, const Node& node) {
  Instruction out;
  out.op = node.op->name;
  out.name = node.outputs.empty() ? node.op->name : graph.value(node.outputs[0]).name;
  out.attributes = node.attributes;
  out.inputs.assign(node.inputs.begin(), node.inputs.end());
  out.outputs.assign(node.outputs.begin(), node.outputs.end());
  out.at = node.at;
  out.origins = node.origins;
  if (out.origins.empty()) out.origins = {{out.name, node.at}};
  return out;
}

Instruction copy_of(const Region& region, std::size_t from, std::size_t to) {
  Instruction out;
  out.kind = Instruction::Kind::kCopy;
  out.op = "copy";
  out.name = region.values[from].name;
  out.inputs = {static_cast<std::int32_t>(from)};
  out.outputs = {static_cast<std::int32_t>(to)};
  return out;
}

// Finds adjacent scans with the same number of steps, none of which reads or writes memory that another one writes.
void Lowering::find_concurrent(Region& region) {
  const auto touch = [&](const Instruction& a, const Instruction& b) {
    const auto storage = [&](std::int32_t v) { return v < 0 ? Storage{} : region.values[static_cast<std::size_t>(v)].storage; };
    const auto meets = [&](std::int32_t written, const std::vector<std::int32_t>& others) {
      const Storage where = storage(written);
      return where.kind != Storage::Kind::kNone &&
             std::any_of(others.begin(), others.end(), [&](std::int32_t v) { return storage(v) == where; });
    };
    return std::any_of(a.outputs.begin(), a.outputs.end(),
                       [&](std::int32_t v) { return meets(v, b.inputs) || meets(v, b.outputs); }) ||
           std::any_of(b.outputs.begin(), b.outputs.end(), [&](std::int32_t v) { return meets(v, a.inputs); });
  };
  std::vector<Instruction>& all = region.instructions;
  std::size_t group = 0;  // the first scan of the current group
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool joins =
        i > group && i - group < kMostConcurrent && all[i].kind == Instruction::Kind::kScan &&
        all[group].kind == Instruction::Kind::kScan && all[i].scan.steps == all[group].scan.steps &&
        std::none_of(all.begin() + static_cast<std::ptrdiff_t>(group), all.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const Instruction& before) { return touch(before, all[i]); });
    all[i].concurrent = joins;
    if (!joins) group = i;
  }
}

// Appends the copies at the end of the region. Copies to staging blocks come first, because a slot must not be written before
// its old value was read.
void Lowering::append_copies(const ir::Graph& graph, const RegionPlan& plan, Region& region) const {
  const auto add_value = [&](const CopyPlan& copy, Storage storage) {
    region.values.push_back(value_spec(graph.value(copy.from).name, graph.type(copy.from), storage));
    return region.values.size() - 1;
  };
  std::vector<std::size_t> from;
  for (const CopyPlan& copy : plan.copies) {
    from.push_back(static_cast<std::size_t>(copy.from));
    if (copy.staging_block < 0) continue;
    from.back() = add_value(copy, {Storage::Kind::kBlock, copy.staging_block});
    region.instructions.push_back(copy_of(region, static_cast<std::size_t>(copy.from), from.back()));
  }
  for (std::size_t i = 0; i < plan.copies.size(); ++i) {
    const std::size_t to = add_value(plan.copies[i], {Storage::Kind::kSlot, plan.copies[i].slot});
    region.instructions.push_back(copy_of(region, from[i], to));
  }
}

std::int32_t Lowering::lower_region(const ir::Graph& graph, const RegionPlan& plan) {
  const std::size_t index = regions_.size();
  regions_.emplace_back();
  Region region;
  region.slots = plan.slots;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    region.values.push_back(value_spec(graph.values[v].name, graph.values[v].type, plan.values[v]));
  }
  std::vector<std::int32_t> position;  // by node: its position among the instructions
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    position.push_back(static_cast<std::int32_t>(region.instructions.size()));
    const auto storage = [&](ir::ValueId v) { return plan.values[static_cast<std::size_t>(v)]; };
    if (node.op->view && storage(node.inputs[0]) == storage(node.outputs[0])) continue;
    Instruction instruction = instruction_of(graph, node);
    if (node.op->view) {
      instruction = copy_of(region, static_cast<std::size_t>(node.inputs[0]), static_cast<std::size_t>(node.outputs[0]));
      instruction.at = node.at;
    } else if (ir::is_scan(node)) {
      const ScanMemory& scan = plan.scans.at(static_cast<std::int32_t>(n));
      instruction.kind = Instruction::Kind::kScan;
      instruction.scan.states = scan.states;
      instruction.scan.sequences = static_cast<std::int32_t>(ir::scan_layout(node).each);
      instruction.scan.steps = node.attributes.dim("steps");
      instruction.scan.reverse = node.attributes.boolean("reverse");
      instruction.scan.region = lower_region(node.regions[0], scan.body);
    }
    region.instructions.push_back(std::move(instruction));
  }
  position.push_back(static_cast<std::int32_t>(region.instructions.size()));
  append_copies(graph, plan, region);
  const auto last = static_cast<std::int32_t>(region.instructions.size());
  for (const BlockPlan& block : plan.blocks) {
    const bool to_end = block.last == static_cast<std::int32_t>(graph.nodes.size());
    region.blocks.push_back({bytes_of(block.type, precision_), position[static_cast<std::size_t>(block.first)],
                             to_end ? last : position[static_cast<std::size_t>(block.last)]});
  }
  if (index == 0) find_concurrent(region);
  regions_[index] = std::move(region);
  return static_cast<std::int32_t>(index);
}

// The input of which `v` is a copy with rows replaced (Role::kPut), if nothing reads the input's memory, views included, after
// that; -1: there is none.
std::int32_t updated_input(const ir::Graph& graph, const RegionPlan& plan, ir::ValueId v) {
  const Node* const put = ir::made_by(graph, v, ir::Role::kPut);
  if (put == nullptr) return -1;
  const auto input =
      std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](const ir::Input& i) { return i.value == put->inputs[0]; });
  if (input == graph.inputs.end() || input->lasting) return -1;
  const Storage home = plan.values[static_cast<std::size_t>(input->value)];
  const auto lies_there = [&](ir::ValueId x) { return x != kNone && plan.values[static_cast<std::size_t>(x)] == home; };
  if (std::count_if(put->inputs.begin(), put->inputs.end(), lies_there) != 1) return -1;
  for (std::size_t n = static_cast<std::size_t>(graph.value(v).node) + 1; n < graph.nodes.size(); ++n) {
    if (std::any_of(graph.nodes[n].inputs.begin(), graph.nodes[n].inputs.end(), lies_there)) return -1;
  }
  if (std::any_of(plan.copies.begin(), plan.copies.end(), [&](const CopyPlan& c) { return lies_there(c.from); })) return -1;
  return static_cast<std::int32_t>(input - graph.inputs.begin());
}

}  // namespace

Program lower(const ir::Graph& graph, const MemoryPlan& plan, Precision precision) {
  Program program;
  for (const ir::Variable& variable : graph.variables) program.variables.push_back(variable_spec(graph, variable, precision));
  for (const ir::Input& input : graph.inputs) {
    const ir::Value& value = graph.value(input.value);
    program.feeds.push_back(
        {value.name, concrete(value.type.type, precision), value.type.shape, input.below, input.lengths_of, input.lasting});
  }
  for (const ir::Output& output : graph.outputs) {
    const ir::TensorType& type = graph.type(output.value);
    program.fetches.push_back(
        {output.name, concrete(type.type, precision), type.shape, updated_input(graph, plan.root, output.value)});
  }
  program.defined_symbols = graph.defined_symbols;
  Lowering lowering(precision);
  lowering.lower_region(graph, plan.root);
  program.regions = lowering.take();
  return program;
}

}  // namespace graphrun
