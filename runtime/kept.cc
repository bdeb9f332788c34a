#include "runtime/kept.h"

namespace graphrun {

KeptStore::KeptStore(const Program& program) : written_(program.variables.size()) {
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

Kept& KeptStore::place(std::size_t region, std::size_t instruction, std::uint64_t layout, std::size_t bytes,
                       const std::vector<std::int32_t>& variables) {
  std::unique_ptr<Kept>& place = places_[{region, instruction, layout, bytes}];
  if (!place) {
    auto made = std::make_unique<Kept>();
    made->memory = Tensor(DType::kBool, {static_cast<std::int64_t>(bytes)});
    made->variables = variables;
    made->versions.assign(variables.size(), 0);
    place = std::move(made);
  }
  return *place;
}

std::size_t KeptStore::bytes() const {
  std::size_t sum = 0;
  for (const auto& [key, place] : places_) {
    if (place) sum += place->memory.bytes();
  }
  return sum;
}

}  // namespace graphrun
