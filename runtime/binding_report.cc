#include "runtime/binding_report.h"

#include <algorithm>

#include "runtime/arena.h"
#include "runtime/binding.h"
#include "runtime/kept.h"
#include "runtime/loop.h"
#include "runtime/team.h"
#include "runtime/threads.h"

namespace graphrun {
namespace {

std::string counted(std::int64_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string meeting(const std::vector<char>& meet_before) {
  const auto n = std::count_if(meet_before.begin(), meet_before.end(), [](char meets) { return meets != 0; });
  return n == 0 ? "which never meet"
                : "which meet " + (n == 1 ? std::string("once") : std::to_string(n) + " times") + " a step";
}

std::string of_team(const Team& team) {
  const auto threads = static_cast<std::int64_t>(team.members.size());
  if (threads == 1) return "by one thread";
  return "by " + counted(threads, "thread") +
         (team.by_rows ? ", rows of the batch each, which never meet"
                       : ", columns of every result each, " + meeting(team.meet_before));
}

// Why a device does not run the loop as one launch.
std::string obstacle(const BoundScan& scan) {
  for (const BoundInstruction& bound : scan.body.instructions) {
    if (is_part_of_loop(bound)) continue;
    return "'" + bound.source->name + "' (" + (bound.scan ? "a loop" : bound.source->op) + ") is no part of a single launch";
  }
  const auto by_rows_alone = std::find_if(scan.body.instructions.begin(), scan.body.instructions.end(), [](const auto& bound) {
    return bound.source->kind != Instruction::Kind::kCopy && bound.kernel.by_columns == nullptr;
  });
  if (by_rows_alone != scan.body.instructions.end()) {
    const std::string name = "'" + by_rows_alone->source->name + "' (" + by_rows_alone->source->op + ")";
    if (!row_plan(scan)) return name + " is no part of a single launch where rows of the batch read each other";
    return "rows of the batch, which " + name + " asks for, are more than a block has room or time for";
  }
  return "a single launch asks for more memory of a block, or more arguments, than there are";
}

struct Shown {
  const Program& program;
  const ProgramLayout& layout;
  Device device;
};

std::string plan(const BoundInstruction& bound, const Shown& shown) {
  const BoundScan& scan = *bound.scan;
  if (scan.steps == 0) return "nothing to do";
  const char* const beside = bound.beside > 0 ? ", at the same time as the next" : "";
  if (scan.loop) {
    const bool meets = scan.loop->traits().meets;
    return scan.loop->describe() + ", " + meeting(meets ? meetings(scan, shown.layout) : std::vector<char>()) + beside;
  }
  if (scan.team) return of_team(*scan.team) + beside;
  if (!shown.program.recurrent_kernels) return "kernel by kernel, without recurrent_kernels";
  return "kernel by kernel" + (shown.device == Device::kCuda ? ": " + obstacle(scan) : "");
}

void describe(const BoundRegion& region, const Shown& shown, std::string& text) {
  for (const BoundInstruction& bound : region.instructions) {
    if (!bound.scan) continue;
    text += std::string(2 * (region.depth + 1), ' ') + bound.source->name + ": " + counted(bound.scan->steps, "step") +
            (bound.scan->reverse ? " backwards" : "") + " of " +
            counted(static_cast<std::int64_t>(bound.scan->body.instructions.size()), "kernel") + ", " + plan(bound, shown) +
            "\n";
    describe(bound.scan->body, shown, text);
  }
}

}  // namespace

std::string describe_loops(const Program& program, const SymbolValues& sizes, Target target) {
  KeptStore store(program);
  const std::unique_ptr<Binding> binding = bind(program, sizes, target, store);
  std::string text;
  describe(binding->root, {program, binding->layout, target.device}, text);
  return text.empty() ? "  there are none\n" : text;
}

std::string describe_bound_memory(const Program& program, const SymbolValues& sizes, Target target) {
  KeptStore store(program);
  const std::int64_t with = bind(program, sizes, target, store)->layout.bytes, without = layout(program, sizes).bytes;
  return "with what kernels work in: " + std::to_string(with) + " bytes (" + std::to_string(with - without) + " more), by " +
         counted(threads(), "thread") + "; beside it, packed once until parameters change: " + std::to_string(store.bytes()) +
         " bytes\n";
}

}  // namespace graphrun
