#include "runtime/execute/packed_weights.h"

#include <algorithm>

#include "runtime/threads/threads.h"

namespace graphrun {

void PackedWeights::make(const std::vector<const void*>& memory_of) {
  std::vector<TensorView> operands = inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (from[i] >= 0) operands[i].data = const_cast<void*>(memory_of[static_cast<std::size_t>(from[i])]);
  }
  KernelContext context;
  context.attributes = attributes;
  context.inputs = operands;
  context.workspace = memory.raw();
  constexpr std::size_t kWorthAThread = 256 << 10;
  const std::size_t of_column = memory.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(kernel->columns, 1)) + 1;
  const auto steps = static_cast<std::int64_t>(kWorthAThread / of_column) / kernel->step + 1;
  parallel_ranges(kernel->columns, steps * kernel->step,
                  [&](std::int64_t begin, std::int64_t end) { kernel->prepare(context, begin, end); });
  ready = true;
}

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

PackedWeights& PackedWeightsStore::place(const ColumnKernel& kernel, const std::vector<std::int32_t>& variables) {
  std::unique_ptr<PackedWeights>& place = places_[{kernel.layout, kernel.packed_bytes, variables}];
  if (!place) {
    auto made = std::make_unique<PackedWeights>();
    made->memory = Tensor(DType::kBool, {static_cast<std::int64_t>(kernel.packed_bytes)});
    made->variables = variables;
    made->versions.assign(variables.size(), 0);
    place = std::move(made);
  }
  return *place;
}

std::size_t PackedWeightsStore::bytes() const {
  std::size_t sum = 0;
  for (const auto& [key, place] : places_) {
    if (place) sum += place->memory.bytes();
  }
  return sum;
}

}  // namespace graphrun
