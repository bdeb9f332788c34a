#include "tools/runs/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "runtime/base/file.h"
#include "tools/cli/program.h"
#include "tools/json/json.h"
#include "tools/model/model_folder.h"
#include "tools/model/results.h"
#include "tools/run/run_folder.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestSeedMetrics = std::uint64_t{1} << 30;  // bytes
const std::vector<std::string> kSets = {"valid", "test"};

// The reports of a finished run, by set of data.
struct SeedResults {
  std::uint64_t seed = 0;
  std::string folder;
  bool diverged = false;
  std::map<std::string, ReportResults> sets;
};

// Throws E0520 if there is a run in the folder itself or, unless runs are resumed, in the folder of one of the seeds.
void check_folders(const TrainRequest& request, const std::vector<SeedResults>& runs) {
  const auto refuse = [](const std::string& folder, const std::string& other) {
    throw UserError(ExitCode::kUsage, "E0520 run-exists", fmt::format("'{}' already contains a run", folder),
                    {"help: " + other + "name another folder with --out"});
  };
  if (holds_run(request.out)) refuse(request.out, "it is not one of several seeds; ");
  for (const SeedResults& run : runs) {
    if (request.begin == RunFolder::Begin::kNew && holds_run(run.folder))
      refuse(run.folder, "--resume continues the runs of these seeds; else ");
  }
}

// The results in the last line of metrics that has them.
std::optional<ReportResults> test_results(const ModelLayout& layout) {
  std::optional<ReportResults> last;
  std::istringstream lines(read_file(layout.metrics(), kLargestSeedMetrics));
  for (std::string line; std::getline(lines, line);) {
    if (auto results = parse_results(line, "test")) last = std::move(results);
  }
  return last;
}

void read_results(SeedResults& run) {
  const ModelLayout layout{run.folder};
  if (const auto valid = parse_results(read_parameters(layout).reports, "valid")) run.sets["valid"] = *valid;
  if (const auto test = test_results(layout)) run.sets["test"] = *test;
}

// The mean over the runs that have this set, and the sample deviation, which does not exist for one run.
struct Together {
  ReportResults mean, deviation;
};
Together together(const std::vector<SeedResults>& runs, const std::string& set) {
  std::vector<const ReportResults*> all;
  for (const SeedResults& run : runs) {
    if (const auto found = run.sets.find(set); found != run.sets.end()) all.push_back(&found->second);
  }
  Together both;
  if (all.empty()) return both;
  const auto count = static_cast<double>(all.size());
  for (const auto& [name, value] : *all.front()) {
    double sum = 0, squares = 0;
    for (const ReportResults* results : all) sum += result_of(*results, name);
    for (const ReportResults* results : all) squares += std::pow(result_of(*results, name) - sum / count, 2);
    both.mean.emplace_back(name, sum / count);
    both.deviation.emplace_back(name, std::sqrt(squares / (count - 1)));  // NaN if there is none
  }
  return both;
}

std::string table(const std::vector<SeedResults>& runs) {
  std::string text;
  for (const std::string& set : kSets) {
    std::vector<std::pair<std::string, ReportResults>> rows;
    for (const SeedResults& run : runs) {
      if (run.sets.count(set) != 0) rows.emplace_back(fmt::format("{}, seed {}", set, run.seed), run.sets.at(set));
    }
    if (rows.empty()) continue;
    const Together both = together(runs, set);
    rows.emplace_back(set + ", mean", both.mean);
    if (rows.size() > 2) rows.emplace_back(set + ", deviation", both.deviation);
    text += (text.empty() ? "" : "\n") + results_table(rows);
  }
  for (const SeedResults& run : runs) {
    if (run.diverged) text += fmt::format("seed {}: diverged\n", run.seed);
  }
  return text;
}

nlohmann::ordered_json seeds_json(const std::vector<SeedResults>& runs) {
  nlohmann::ordered_json each = nlohmann::ordered_json::array(), mean, deviation;
  for (const SeedResults& run : runs) {
    nlohmann::ordered_json one = {{"seed", run.seed}, {"folder", run.folder}, {"diverged", run.diverged}};
    for (const auto& [set, results] : run.sets) one[set] = results_json(results);
    each.push_back(std::move(one));
  }
  for (const std::string& set : kSets) {
    const Together both = together(runs, set);
    if (both.mean.empty()) continue;
    mean[set] = results_json(both.mean);
    deviation[set] = results_json(both.deviation);
  }
  return {{"seeds", each}, {"mean", mean}, {"deviation", deviation}};
}

// Adds the finished runs of other seeds in the folder.
void add_others(const std::string& out, std::vector<SeedResults>& runs) {
  const auto named = static_cast<std::ptrdiff_t>(runs.size());
  for (const std::uint64_t seed : seeds_in(out)) {
    const auto end = runs.begin() + named;
    if (std::any_of(runs.begin(), end, [&](const SeedResults& run) { return run.seed == seed; })) continue;
    SeedResults other{seed, seed_folder(out, seed), false, {}};
    const ModelLayout layout{other.folder};
    // Not finished, or without test data: nothing to compare.
    if (!is_there(layout.metrics()) || !test_results(layout)) continue;
    read_results(other);
    runs.push_back(std::move(other));
  }
}

}  // namespace

ExitCode train_seeds(const TrainRequest& request, const std::vector<std::uint64_t>& seeds) {
  std::vector<SeedResults> runs;
  for (const std::uint64_t seed : seeds) runs.push_back({seed, seed_folder(request.out, seed), false, {}});
  check_folders(request, runs);
  ExitCode ended = ExitCode::kDone;
  for (SeedResults& run : runs) {
    TrainRequest one = request;
    one.out = run.folder;
    one.settings.push_back("train.seed=" + std::to_string(run.seed));
    if (one.begin == RunFolder::Begin::kResume && !holds_run(run.folder)) one.begin = RunFolder::Begin::kNew;
    one.print_results = false;
    try {
      if (const ExitCode code = train(one); code != ExitCode::kDone) return code;
      read_results(run);
    } catch (const UserError& error) {
      if (error.exit_code() != ExitCode::kDiverged) throw;
      fmt::print(stderr, "{}\n", render(error.diagnostics(), color_on_stderr()));
      run.diverged = true;
      ended = ExitCode::kDiverged;
    }
  }
  add_others(request.out, runs);
  write_file(request.out + "/seeds.json", json_text(seeds_json(runs), 1) + "\n");
  write_output("-", table(runs));
  return ended;
}

}  // namespace graphrun
