// The memory of a run at its peak, and which values use it, as text for people.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "compiler/memory.h"
#include "runtime/program/arena.h"

namespace graphrun {
namespace {

// Number of blocks listed below the peak; the others are summed.
constexpr std::size_t kMostNamed = 12;

struct Taken {
  std::string name;
  std::int64_t bytes = 0;
};

// By block: the first of the values that share it, and the number of others.
std::vector<std::string> block_names(const Region& region) {
  std::vector<std::string> first(region.blocks.size());
  std::vector<int> values(region.blocks.size(), 0);
  for (const ValueSpec& value : region.values) {
    if (value.storage.kind != Storage::Kind::kBlock) continue;
    const auto b = static_cast<std::size_t>(value.storage.index);
    if (values[b]++ == 0) first[b] = value.name;
  }
  for (std::size_t b = 0; b < first.size(); ++b) {
    if (values[b] == 0) first[b] = "between steps";
    if (values[b] > 1) first[b] += fmt::format(" and {} more in turn", values[b] - 1);
  }
  return first;
}

// The memory in use while instruction `at` of the root runs.
std::vector<Taken> taken_at(const Program& program, const ProgramLayout& layout, const SymbolValues& symbols,
                            const std::vector<std::string>& names, std::int32_t at) {
  const Region& root = program.regions[0];
  std::vector<Taken> taken;
  for (std::size_t b = 0; b < root.blocks.size(); ++b) {
    const BlockSpec& block = root.blocks[b];
    if (block.first <= at && at <= block.last) taken.push_back({names[b], block.bytes.evaluate(symbols)});
  }
  if (at < static_cast<std::int32_t>(root.instructions.size())) {
    const Instruction& instruction = root.instructions[static_cast<std::size_t>(at)];
    if (instruction.kind == Instruction::Kind::kScan) {
      const auto body = static_cast<std::size_t>(instruction.scan.region);
      taken.push_back({"inside of the loop " + instruction.name, layout.regions[body].bytes});
    }
  }
  std::stable_sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) { return a.bytes > b.bytes; });
  return taken;
}

std::int64_t sum(const std::vector<Taken>& taken) {
  return std::accumulate(taken.begin(), taken.end(), std::int64_t{0},
                         [](std::int64_t all, const Taken& t) { return all + t.bytes; });
}

std::int64_t variable_bytes(const Program& program, const SymbolValues& symbols, VariableSpec::Kind kind) {
  std::int64_t bytes = 0;
  for (const VariableSpec& v : program.variables) {
    if (v.kind == kind) bytes += element_count(evaluate(v.shape, symbols)) * static_cast<std::int64_t>(size_of(v.dtype));
  }
  return bytes;
}

}  // namespace

std::string describe_peak(const Program& program, const SymbolValues& symbols) {
  const ProgramLayout where = layout(program, symbols);
  const std::vector<std::string> names = block_names(program.regions[0]);
  std::vector<Taken> most;
  std::int32_t at = 0;
  for (std::int32_t p = 0; p <= static_cast<std::int32_t>(program.regions[0].instructions.size()); ++p) {
    std::vector<Taken> taken = taken_at(program, where, symbols, names, p);
    if (p == 0 || sum(taken) > sum(most)) most = std::move(taken), at = p;
  }
  std::string sizes;
  for (const auto& [symbol, size] : symbols) sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", symbol.name(), size);
  std::string out = fmt::format("arena: {} bytes{}{}\n", where.bytes, sizes.empty() ? "" : " at ", sizes);
  const bool at_end = at == static_cast<std::int32_t>(program.regions[0].instructions.size());
  fmt::format_to(std::back_inserter(out), "  of which at most {} are in use at once, {}:\n", sum(most),
                 at_end ? "at the end" : "at " + program.regions[0].instructions[static_cast<std::size_t>(at)].name);
  for (std::size_t i = 0; i < most.size() && i < kMostNamed; ++i) {
    fmt::format_to(std::back_inserter(out), "  {:>14}  {}\n", most[i].bytes, most[i].name);
  }
  if (most.size() > kMostNamed) {
    const std::vector<Taken> rest(most.begin() + kMostNamed, most.end());
    fmt::format_to(std::back_inserter(out), "  {:>14}  in {} more\n", sum(rest), rest.size());
  }
  const auto of = [&](VariableSpec::Kind kind) { return variable_bytes(program, symbols, kind); };
  fmt::format_to(std::back_inserter(out), "variables: parameters {} bytes, optimizer {}, states of streams {}\n",
                 of(VariableSpec::Kind::kParameter), of(VariableSpec::Kind::kSlot), of(VariableSpec::Kind::kState));
  return out;
}

}  // namespace graphrun
