#include "runtime/execute/packed_weights.h"

#include <algorithm>
#include <iterator>

#include "runtime/threads/threads.h"

namespace graphrun {

PackedWeightsStore::PackedWeightsStore(const Program& program) : written_(program.variables.size()) {
  const Region& root = program.regions.at(0);
  for (const Instruction& instruction : root.instructions) {
    for (std::int32_t v : instruction.outputs) {
      if (v < 0) continue;
      const Storage& at = root.values[static_cast<std::size_t>(v)].storage;
      const bool is_variable = at.kind == Storage::Kind::kSlot && static_cast<std::size_t>(at.index) < written_.size();
      if (is_variable) written_[static_cast<std::size_t>(at.index)] = true;
    }
  }
}

PackedWeights& PackedWeightsStore::place(const BoundInstruction& bound, std::vector<std::int32_t> from) {
  const ColumnKernel& kernel = *bound.kernel.by_columns;
  std::vector<std::int32_t> variables;
  std::copy_if(from.begin(), from.end(), std::back_inserter(variables), [](std::int32_t v) { return v >= 0; });
  const std::lock_guard<std::mutex> guard(lock_);
  std::unique_ptr<PackedWeights>& place = places_[{kernel.layout, kernel.packed_bytes, variables}];
  if (!place) {
    auto made = std::make_unique<PackedWeights>();
    made->memory = Tensor(DType::kBool, {static_cast<std::int64_t>(kernel.packed_bytes)});
    made->versions.assign(variables.size(), 0);
    made->variables = std::move(variables);
    made->kernel = bound.kernel.by_columns;
    made->attributes = &bound.source->attributes;
    made->inputs.assign(bound.inputs().begin(), bound.inputs().end());
    made->from = std::move(from);
    place = std::move(made);
  }
  return *place;
}

void PackedWeightsStore::bring_up_to_date(const std::vector<PackedWeights*>& places, const std::vector<std::uint64_t>& versions,
                                          const std::vector<const void*>& memory_of) {
  const std::lock_guard<std::mutex> guard(lock_);
  for (PackedWeights* place : places) {
    for (std::size_t k = 0; k < place->variables.size(); ++k) {
      const std::uint64_t version = versions[static_cast<std::size_t>(place->variables[k])];
      if (place->versions[k] != version) place->versions[k] = version, place->ready = false;
    }
    if (!place->ready) pack(*place, memory_of);
    place->ready = true;
  }
}

void PackedWeightsStore::pack(const PackedWeights& place, const std::vector<const void*>& memory_of) {
  std::vector<TensorView> operands = place.inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (place.from[i] >= 0) operands[i].data = const_cast<void*>(memory_of[static_cast<std::size_t>(place.from[i])]);
  }
  KernelContext context;
  context.attributes = place.attributes;
  context.inputs = operands;
  context.workspace = place.memory.raw();
  constexpr std::size_t kWorthAThread = 256 << 10;
  const ColumnKernel& kernel = *place.kernel;
  const std::size_t of_column = place.memory.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(kernel.columns, 1)) + 1;
  const auto steps = static_cast<std::int64_t>(kWorthAThread / of_column) / kernel.step + 1;
  parallel_ranges(kernel.columns, steps * kernel.step,
                  [&](std::int64_t begin, std::int64_t end) { kernel.prepare(context, begin, end); });
}

void PackedWeightsStore::keep_only(const std::set<const PackedWeights*>& used) {
  const std::lock_guard<std::mutex> guard(lock_);
  std::erase_if(places_, [&](const auto& place) { return used.count(place.second.get()) == 0; });
}

std::size_t PackedWeightsStore::bytes() const {
  const std::lock_guard<std::mutex> guard(lock_);
  std::size_t sum = 0;
  for (const auto& [key, place] : places_) {
    if (place) sum += place->memory.bytes();
  }
  return sum;
}

}  // namespace graphrun
