#include "tools/processes/same.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/json/json.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace graphrun {
namespace {

// For each core of the machine, '1' if the process may run on it, otherwise '0'.
std::string cores_of(pid_t process) {
  std::string cores;
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(process, sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) cores += CPU_ISSET(core, &allowed) ? '1' : '0';
  cores.resize(cores.find_last_of('1') + 1);
#endif
  return cores;
}

std::int64_t count_of(const std::string& cores) { return std::count(cores.begin(), cores.end(), '1'); }

}  // namespace

SharedCores shared_cores(Communicator& together) {
  const std::string mine = cores_of(0);
  const std::vector<std::string> all = together.gather(mine + " " + cores_of(getppid()));
  SharedCores shared;
  shared.sharing = 0;
  for (int rank = 0; rank < together.size(); ++rank) {
    const std::string& text = all[static_cast<std::size_t>(rank)];
    const std::string own = text.substr(0, text.find(' ')), launchers = text.substr(own.size() + 1);
    const bool here = together.machine(rank) == together.machine(together.rank());
    shared.sharing += here && own == mine;
    shared.place += here && own == mine && rank < together.rank();
    if (together.rank() != 0 || !shared.warnings.empty() || count_of(own) >= count_of(launchers)) continue;
    std::string used(std::max(launchers.size(), own.size()), '0');  // by any process on that machine
    for (int other = 0; other < together.size(); ++other) {
      if (together.machine(other) != together.machine(rank)) continue;
      const std::string& theirs = all[static_cast<std::size_t>(other)];
      for (std::size_t core = 0; core < used.size() && theirs[core] != ' '; ++core)
        used[core] = std::max(used[core], theirs[core]);
    }
    const std::int64_t cores = count_of(launchers);
    if (count_of(used) >= cores) continue;
    shared.warnings.push_back(
        {Severity::kWarning,
         "E0536 bound-to-cores",
         {},
         fmt::format("{} may use {} of {} cores: its launcher bound it", together.name(rank), count_of(own), cores),
         {fmt::format("help: mpirun --bind-to none, or --map-by slot:PE={}", cores)}});
  }
  return shared;
}

void divide_cores(const SharedCores& shared, int threads) {
#if defined(__linux__)
  const std::string cores = cores_of(0);
  const std::int64_t of_each = count_of(cores) / shared.sharing;
  if (shared.sharing == 1 || of_each < threads) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  std::int64_t seen = 0;
  for (std::size_t core = 0; core < cores.size(); ++core) {
    if (cores[core] == '1' && seen++ / of_each == shared.place) CPU_SET(core, &own);
  }
  static_cast<void>(sched_setaffinity(0, sizeof own, &own));  // where it is refused, the system places threads
#else
  static_cast<void>(shared), static_cast<void>(threads);
#endif
}

std::string instruction_sets() {
  std::string names;
#if defined(__x86_64__)
  const auto add = [&](bool has, const char* name) {
    if (has) names += (names.empty() ? "" : " ") + std::string(name);
  };
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  add(__builtin_cpu_supports("avx512vnni"), "avx512_vnni");
  add(__builtin_cpu_supports("avx512bf16"), "avx512_bf16");
#endif
  return names.empty() ? "none beyond the basic ones" : names;
}

std::vector<Diagnostic> require_same(Communicator& together, const std::vector<Fact>& facts) {
  nlohmann::ordered_json own = nlohmann::ordered_json::array();
  for (const Fact& fact : facts) own.push_back({fact.value, fact.contents});
  const std::vector<std::string> all = together.gather(json_text_of_bytes(own));
  std::vector<Diagnostic> warnings, errors;
  if (together.rank() != 0) return warnings;
  for (int rank = 1; rank < together.size(); ++rank) {
    const nlohmann::json theirs = parse_json_or_discard(all[static_cast<std::size_t>(rank)]);
    const nlohmann::json ours = parse_json_or_discard(all[0]);
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const bool there_is = theirs.is_array() && i < theirs.size();
      if (there_is && theirs[i] == ours[i]) continue;
      const Fact& fact = facts[i];
      const std::string value = there_is ? theirs[i][0].get<std::string>() : "is missing";
      std::string text = fmt::format("{} has {}: {} ", together.name(rank), fact.kind, fact.name);
      text += value == fact.value ? "has other contents there" : fmt::format("{} there, {} here", value, fact.value);
      (fact.must ? errors : warnings)
          .push_back({fact.must ? Severity::kError : Severity::kWarning, "E0534 unlike-processes", {}, text, {}});
      break;  // other facts may differ as a consequence
    }
  }
  if (errors.empty()) return warnings;
  errors.insert(errors.end(), warnings.begin(), warnings.end());
  throw UserError(ExitCode::kUsage, std::move(errors));
}

}  // namespace graphrun
