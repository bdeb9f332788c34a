#include "runtime/execute/binding.h"

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/scan/columns.h"
#include "runtime/scan/launch.h"
#include "runtime/scan/plan.h"
#include "runtime/scan/thread_group.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

class Binder {
 public:
  Binder(const Program& program, const SymbolValues& symbols, Target target, PackedWeightsStore& store,
         PackedWeightsStore* of_feeds)
      : program_(program),
        symbols_(symbols),
        target_(target),
        store_(store),
        of_feeds_(of_feeds),
        workspaces_(program.regions.size()),
        variables_(program.regions.size()) {
    if (!target.device->is_cpu()) limits_ = target.device->backend().limits();
  }

  BoundRegion bind_root();
  std::vector<PackedWeights*> take_packed() { return std::move(packed_); }
  std::vector<PackedWeights*> take_packed_feeds() { return std::move(packed_feeds_); }
  const Workspaces& workspaces() const { return workspaces_; }
  std::size_t deepest() const { return deepest_; }

 private:
  // The contents of a region's slots.
  struct Slots {
    std::int32_t constant_begin = 0, constant_end = 0;  // slots that stay the same in every run until the scan ends
    // By slot: the variable or lasting feed in it, numbered as in PackedWeights, if no run of the program writes it; else -1.
    std::vector<std::int32_t> variables;
  };
  BoundRegion bind_region(std::size_t index, std::size_t depth, const Slots& slots);
  Slots slots_of_body(const Instruction& scan, const std::vector<std::int32_t>& variables) const;
  std::vector<TensorView> sized_values(const Region& region) const;
  BoundInstruction bind_instruction(const Instruction& instruction, const std::vector<TensorView>& values,
                                    const std::vector<bool>& constant, std::size_t region, std::size_t depth);
  Kernel make_kernel(const BoundInstruction& bound, const std::vector<bool>& constant, std::size_t region) const;
  std::unique_ptr<BoundScan> bind_scan(const BoundInstruction& bound, std::size_t region, std::size_t depth);
  void reserve_for_threads(const BoundScan& scan);
  void reserve_for_prepared(BoundRegion& body);
  void keep_what_lasts(BoundRegion& region, bool by_columns);

  const Program& program_;
  const SymbolValues& symbols_;
  Target target_;
  DeviceLimits limits_;  // of a device other than the CPU
  PackedWeightsStore& store_;
  PackedWeightsStore* of_feeds_;
  Workspaces workspaces_;
  std::vector<std::vector<std::int32_t>> variables_;  // by region and value; see Slots
  std::vector<PackedWeights*> packed_, packed_feeds_;
  std::size_t deepest_ = 0;
};

// Negative or overflowing sizes are reported with the node that would have produced them.
std::vector<TensorView> Binder::sized_values(const Region& region) const {
  std::vector<TensorView> values;
  values.reserve(region.values.size());
  for (const ValueSpec& value : region.values) {
    try {
      values.push_back({nullptr, value.dtype, evaluate(value.shape, symbols_)});
      element_count(values.back().sizes);
    } catch (const UserError&) {
      const auto v = static_cast<std::int32_t>(&value - region.values.data());
      for (const Instruction& instruction : region.instructions) {
        if (std::count(instruction.outputs.begin(), instruction.outputs.end(), v) != 0) rethrow_from(instruction);
      }
      throw;
    }
  }
  return values;
}

BoundRegion Binder::bind_root() {
  Slots slots;
  slots.variables.assign(static_cast<std::size_t>(program_.regions[0].slots), -1);
  for (std::size_t i = 0; i < program_.variables.size(); ++i) {
    if (!store_.written()[i]) slots.variables[i] = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; of_feeds_ != nullptr && i < program_.feeds.size(); ++i) {
    const std::size_t slot = program_.variables.size() + i;
    if (program_.feeds[i].lasting) slots.variables[slot] = static_cast<std::int32_t>(slot);
  }
  BoundRegion root = bind_region(0, 0, slots);
  keep_what_lasts(root, false);
  if (target_.device->is_cpu()) plan_concurrent_threads(root, threads());
  return root;
}

BoundRegion Binder::bind_region(std::size_t index, std::size_t depth, const Slots& slots) {
  const Region& source = program_.regions[index];
  deepest_ = std::max(deepest_, depth);
  BoundRegion region;
  region.source = &source;
  region.index = index;
  region.depth = depth;
  const std::vector<TensorView> values = sized_values(source);
  std::vector<bool> is_constant;
  for (const ValueSpec& value : source.values) {
    const Storage& at = value.storage;
    const bool slot = at.kind == Storage::Kind::kSlot;
    is_constant.push_back(slot && at.index >= slots.constant_begin && at.index < slots.constant_end);
    variables_[index].push_back(slot ? slots.variables[static_cast<std::size_t>(at.index)] : -1);
  }
  region.instructions.reserve(source.instructions.size());
  for (const Instruction& instruction : source.instructions) {
    region.instructions.push_back(bind_instruction(instruction, values, is_constant, index, depth));
    const BoundInstruction& bound = region.instructions.back();
    workspaces_[index].push_back({static_cast<std::int64_t>(bound.kernel.workspace), false});
    if (const ScanPlan::ByRows* const rows = bound.scan ? bound.scan->plan.by_rows() : nullptr) {
      workspaces_[index].back().copies = rows->count;
    }
    if (bound.scan && !target_.device->is_cpu()) {
      workspaces_[index].back().bytes = static_cast<std::int64_t>(LoopKernel::kWorkspace + passed_bytes(*bound.scan));
    }
  }
  index_slots(region);
  return region;
}

BoundInstruction Binder::bind_instruction(const Instruction& instruction, const std::vector<TensorView>& values,
                                          const std::vector<bool>& constant, std::size_t region, std::size_t depth) {
  BoundInstruction bound;
  bound.source = &instruction;
  const auto add = [&](std::int32_t v) {
    bound.operands.push_back(v < 0 ? TensorView{} : values[static_cast<std::size_t>(v)]);
  };
  for (std::int32_t v : instruction.inputs) add(v);
  for (std::int32_t v : instruction.outputs) add(v);
  if (instruction.kind == Instruction::Kind::kScan) bound.scan = bind_scan(bound, region, depth);
  if (instruction.kind != Instruction::Kind::kKernel) return bound;
  try {
    bound.kernel = make_kernel(bound, constant, region);
  } catch (...) {
    rethrow_from(instruction);
  }
  return bound;
}

Kernel Binder::make_kernel(const BoundInstruction& bound, const std::vector<bool>& constant, std::size_t region) const {
  const std::vector<std::int32_t>& variables = variables_[region];
  const std::vector<ValueSpec>& values = program_.regions[region].values;
  const Instruction& instruction = *bound.source;
  const KernelFactory* factory = target_.device->kernels().find(instruction.op);
  GRAPHRUN_CHECK(factory != nullptr, "no kernel for '" + instruction.op + "'");
  KernelRequest request;
  request.attributes = &instruction.attributes;
  request.inputs.assign(bound.inputs().begin(), bound.inputs().end());
  request.outputs.assign(bound.outputs().begin(), bound.outputs().end());
  for (std::int32_t v : instruction.inputs) {
    request.absent_inputs.push_back(v < 0);
    request.constant_inputs.push_back(v >= 0 && constant[static_cast<std::size_t>(v)]);
    request.lasting_inputs.push_back(v >= 0 && variables[static_cast<std::size_t>(v)] >= 0);
  }
  for (std::size_t o = 0; o < bound.operands.size(); ++o) {
    const std::int32_t v = instruction.operand(o);
    request.names.push_back(v < 0 ? std::string_view() : std::string_view(values[static_cast<std::size_t>(v)].name));
  }
  request.origins = instruction.origins;
  request.weights = target_.weights;
  request.products = target_.products;
  request.device = limits_;
  request.symbols = &symbols_;
  return (*factory)(request);
}

Binder::Slots Binder::slots_of_body(const Instruction& scan, const std::vector<std::int32_t>& variables) const {
  Slots slots;
  const ScanSlots order = slots_of(scan);
  slots.constant_begin = static_cast<std::int32_t>(order.invariant(0));
  slots.constant_end = static_cast<std::int32_t>(order.position());
  slots.variables.assign(static_cast<std::size_t>(program_.regions[static_cast<std::size_t>(scan.scan.region)].slots), -1);
  for (std::int32_t i = slots.constant_begin; i < slots.constant_end; ++i) {
    const std::int32_t v = scan.inputs[static_cast<std::size_t>(i)];
    if (v >= 0) slots.variables[static_cast<std::size_t>(i)] = variables[static_cast<std::size_t>(v)];
  }
  return slots;
}

std::unique_ptr<BoundScan> Binder::bind_scan(const BoundInstruction& bound, std::size_t region, std::size_t depth) {
  const ScanSpec& spec = bound.source->scan;
  auto scan = std::make_unique<BoundScan>();
  scan->body = bind_region(static_cast<std::size_t>(spec.region), depth + 1, slots_of_body(*bound.source, variables_[region]));
  scan->steps = spec.steps.evaluate(symbols_);
  scan->reverse = spec.reverse;
  scan->slots = slots_of(*bound.source);
  const ScanSlots& slots = scan->slots;
  const auto stride = [&](const TensorView& sequence) {
    GRAPHRUN_CHECK(!sequence.sizes.empty() && sequence.sizes[0] == scan->steps, "scan: a sequence of other than its steps");
    return scan->steps == 0 ? 0 : sequence.bytes() / static_cast<std::size_t>(scan->steps);
  };
  for (std::size_t s = 0; s < slots.states; ++s) scan->states.push_back({spec.states[s], bound.inputs()[s].bytes(), nullptr});
  for (std::size_t i = 0; i < slots.sequences; ++i) {
    scan->sequence_stride.push_back(stride(bound.inputs()[slots.sequence(i)]));
  }
  for (std::size_t i = 0; i < slots.stacks; ++i) scan->stack_stride.push_back(stride(bound.outputs()[slots.stack_output(i)]));
  if (target_.device->is_cpu() && program_.recurrent_kernels) scan->plan = plan_threads(*scan, threads());
  const bool by_columns = scan->plan.by_columns() != nullptr;
  if (by_columns) reserve_for_threads(*scan);
  keep_what_lasts(scan->body, by_columns);
  if (!target_.device->is_cpu()) reserve_for_prepared(scan->body);
  return scan;
}

// Workspace for kernels that threads share, which persists from step to step, in place of the workspace of an unshared run.
void Binder::reserve_for_threads(const BoundScan& scan) {
  std::vector<Workspace>& own = workspaces_[scan.body.index];
  for (std::size_t i = 0; i < own.size(); ++i) {
    const BoundInstruction& bound = scan.body.instructions[i];
    const std::size_t shared = bound.kernel.by_columns ? bound.kernel.by_columns->packed_bytes : 0;
    own[i] = {static_cast<std::int64_t>(shared_columns(bound) > 0 ? shared : bound.kernel.workspace), true};
  }
}

// Where some instruction prevents a single launch, the others run in their prepared form, in workspace that persists from step
// to step.
void Binder::reserve_for_prepared(BoundRegion& body) {
  const auto is_part = [](const BoundInstruction& bound) { return is_part_of_loop(bound); };
  if (program_.recurrent_kernels && std::all_of(body.instructions.begin(), body.instructions.end(), is_part)) return;
  for (std::size_t i = 0; i < body.instructions.size(); ++i) {
    BoundInstruction& bound = body.instructions[i];
    if (bound.kernel.prepared == nullptr) continue;
    bound.prepared = true;
    bound.kernel.prepared->choose();
    workspaces_[body.index][i] = {static_cast<std::int64_t>(bound.kernel.prepared->bytes), true};
  }
}

// Gives the data that kernels prepare from variables and lasting feeds alone a place that outlives the run, if threads share
// the body by columns, and for kernels that are always better off prepared.
void Binder::keep_what_lasts(BoundRegion& region, bool by_columns) {
  const std::vector<std::int32_t>& variables = variables_[region.index];
  for (std::size_t i = 0; i < region.instructions.size(); ++i) {
    BoundInstruction& bound = region.instructions[i];
    const ColumnKernel* columns = bound.kernel.by_columns.get();
    if (columns == nullptr || !columns->prepare || columns->layout.empty() || !(by_columns || columns->alone)) continue;
    std::vector<std::int32_t> from(bound.source->inputs.size(), -1);
    bool lasts = true;
    for (std::size_t k = 0; k < columns->prepares_from.size(); ++k) {
      const std::int32_t v = columns->prepares_from[k] ? bound.source->inputs[k] : -1;
      if (v < 0) continue;
      from[k] = variables[static_cast<std::size_t>(v)];
      lasts &= from[k] >= 0;
    }
    if (!lasts) continue;
    const auto variables_end = static_cast<std::int32_t>(program_.variables.size());
    const bool of_feeds = std::any_of(from.begin(), from.end(), [&](std::int32_t v) { return v >= variables_end; });
    bound.packed = &(of_feeds ? *of_feeds_ : store_).place(bound, std::move(from));
    std::vector<PackedWeights*>& list = of_feeds ? packed_feeds_ : packed_;
    if (std::find(list.begin(), list.end(), bound.packed) == list.end()) list.push_back(bound.packed);
    workspaces_[region.index][i] = {};
  }
}

void rebase_region(BoundRegion& region, const ProgramLayout& layout, char* arena) {
  const ProgramLayout::RegionLayout& place = layout.regions[region.index];
  const auto block = [&](std::int32_t index) { return arena + place.blocks[static_cast<std::size_t>(index)]; };
  for (std::size_t i = 0; i < region.instructions.size(); ++i) {
    BoundInstruction& bound = region.instructions[i];
    for (std::size_t o = 0; o < bound.operands.size(); ++o) {
      const Storage storage = region.storage_of(bound, o);
      if (storage.kind == Storage::Kind::kBlock) bound.operands[o].data = block(storage.index);
    }
    bound.workspace = bound.packed == nullptr ? arena + place.workspaces[i] : bound.packed->memory.raw();
    if (!bound.scan) continue;
    BoundScan& scan = *bound.scan;
    rebase_region(scan.body, layout, arena);
    if (const ScanPlan::Threads* const threads = scan.plan.threads()) {
      for (const auto& member : threads->group->members) rebase_region(member->body, layout, arena + member->memory);
    }
    const ProgramLayout::RegionLayout& body = layout.regions[scan.body.index];
    for (BoundScan::State& state : scan.states) {
      if (state.spec.mode != StateSpec::Mode::kAlternate) continue;
      state.block = arena + body.blocks[static_cast<std::size_t>(state.spec.index)];
    }
  }
}

// Thread groups are made last, because their barriers depend on the addresses of the results.
void make_thread_groups(BoundRegion& region, const ProgramLayout& layout) {
  for (BoundInstruction& bound : region.instructions) {
    if (!bound.scan) continue;
    make_thread_groups(bound.scan->body, layout);
    BoundScan& scan = *bound.scan;
    if (ScanPlan::Threads* const threads = scan.plan.threads()) threads->group = make_thread_group(scan, layout);
  }
}

void number(BoundRegion& region, Binding& binding) {
  for (BoundInstruction& bound : region.instructions) {
    binding.numbered.push_back(&bound);
    bound.number = static_cast<std::int32_t>(binding.numbered.size());
    if (!bound.scan) continue;
    binding.most_steps = std::max(binding.most_steps, bound.scan->steps);
    number(bound.scan->body, binding);
  }
}

}  // namespace

std::unique_ptr<Binding> bind(const Program& program, const SymbolValues& symbols, Target target, PackedWeightsStore& store,
                              PackedWeightsStore* of_feeds) {
  if (!target.device->is_cpu()) target.device->backend().use();  // kernels are made for it
  auto binding = std::make_unique<Binding>();
  binding->symbols = symbols;
  Binder binder(program, binding->symbols, target, store, of_feeds);
  binding->root = binder.bind_root();
  // After the root: errors about the sizes of its values name the node that causes them.
  for (const VariableSpec& spec : program.variables) binding->variable_sizes.push_back(evaluate(spec.shape, symbols));
  for (const FetchSpec& spec : program.fetches) binding->fetch_sizes.push_back(evaluate(spec.shape, symbols));
  binding->packed = binder.take_packed();
  binding->packed_feeds = binder.take_packed_feeds();
  binding->layout = layout(program, binding->symbols, binder.workspaces());
  if (target.device->is_cpu()) {
    make_thread_groups(binding->root, binding->layout);
  } else if (program.recurrent_kernels) {
    plan_launches(binding->root, binding->layout, target.device->loops(), target.device->backend().limits());
  }
  number(binding->root, *binding);
  binding->scan_steps.assign(binder.deepest(), 0);
  return binding;
}

void rebase(Binding& binding, void* arena) {
  rebase_region(binding.root, binding.layout, static_cast<char*>(arena));
  binding.base = arena;
}

}  // namespace graphrun
