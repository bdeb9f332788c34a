#include "runtime/program/bound.h"

#include "runtime/base/status.h"

namespace graphrun {

void index_slots(BoundRegion& region) {
  const auto for_each_slot = [&](auto visit) {
    for (BoundInstruction& bound : region.instructions) {
      for (std::size_t i = 0; i < bound.operands.size(); ++i) {
        const Storage storage = region.storage_of(bound, i);
        if (storage.kind == Storage::Kind::kSlot) visit(static_cast<std::size_t>(storage.index), &bound.operands[i].data);
      }
    }
  };
  region.slot_begin.assign(static_cast<std::size_t>(region.source->slots) + 1, 0);
  for_each_slot([&](std::size_t slot, void**) { ++region.slot_begin[slot + 1]; });
  for (std::size_t s = 1; s < region.slot_begin.size(); ++s) region.slot_begin[s] += region.slot_begin[s - 1];
  region.slot_addresses.resize(region.slot_begin.back());
  std::vector<std::size_t> at(region.slot_begin.begin(), region.slot_begin.end() - 1);
  for_each_slot([&](std::size_t slot, void** address) { region.slot_addresses[at[slot]++] = address; });
}

void rethrow_from(const Instruction& instruction) {
  const std::string where = "'" + instruction.name + "' (" + instruction.op + ")";
  try {
    throw;
  } catch (const UserError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& diagnostic : diagnostics) {
      if (diagnostic.at.known()) continue;  // keep a more precise location
      diagnostic.at = instruction.at;
      diagnostic.text = where + ": " + diagnostic.text;
    }
    throw UserError(error.exit_code(), std::move(diagnostics));
  } catch (const std::bad_alloc&) {
    throw UserError(ExitCode::kNoRoom, {{Severity::kError, "E0503 out-of-memory", instruction.at, where + ": no memory", {}}});
  } catch (const std::exception& error) {
    const std::string place = instruction.at.known() ? instruction.at.str() + ": " : "";
    throw InternalError(place + where + ": " + error.what());
  }
}

}  // namespace graphrun
