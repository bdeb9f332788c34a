#include "tools/train/best_models.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/tensor/checkpoint.h"
#include "tools/json/json.h"
#include "tools/model/mean.h"

namespace graphrun {
namespace {

const std::string kBest = "best", kCandidates = "candidates";

void save(const std::string& root, const std::string& kind, const BestModel& model) {
  Checkpoint checkpoint;
  checkpoint.groups["parameters"] = model.parameters;
  checkpoint.texts["reports.json"] = model.reports;
  if (model.value) checkpoint.texts["value.json"] = json_text(number_json(*model.value)) + "\n";
  save_checkpoint(checkpoint_folder(root, model.step, kind), checkpoint);
}

double value_of(const std::string& folder) {
  const auto value = parse_json_or_discard(CheckpointReader(folder).text("value.json"));
  const double number = number_of(value);
  if (std::isnan(number)) {
    throw UserError(ExitCode::kBadData, "E0685 bad-checkpoint",
                    "'" + folder + "' is not an intact checkpoint: its value.json holds no number");
  }
  return number;
}

}  // namespace

void BestModels::keep(const BestModel& model) const {
  save(layout_.root, kBest, model);
  drop_unneeded(kBest);
}

void BestModels::add_candidate(const BestModel& model) const {
  if (recipe_.average.number == 0) return;
  if (recipe_.average.best && (!model.value || std::isnan(*model.value))) return;
  save(layout_.root, kCandidates, model);
  drop_unneeded(kCandidates);
}

std::optional<BestModel> BestModels::mean() const {
  const std::vector<std::string> folders = complete_checkpoints(layout_.root, kCandidates);
  if (folders.empty()) return std::nullopt;
  const std::vector<bool> is_part = needed(kCandidates, folders);
  Mean mean;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (is_part[i]) mean.add(CheckpointReader(folders[i]).group("parameters"), folders[i]);
  }
  BestModel model;
  model.parameters = mean.result();
  return model;
}

void BestModels::saved(std::int64_t step) {
  saved_ = step;
  for (const std::string& kind : {kBest, kCandidates}) drop_unneeded(kind);
}

void BestModels::drop_leftovers(std::int64_t step) {
  saved_ = step;
  for (const std::string& kind : {kBest, kCandidates}) {
    prune_checkpoints(layout_.root, std::numeric_limits<int>::max(), kind);
    for (const std::string& folder : complete_checkpoints(layout_.root, kind)) {
      if (!is_saved(kind, folder)) remove_checkpoint(folder);
    }
  }
}

std::vector<bool> BestModels::needed(const std::string& kind, const std::vector<std::string>& folders) const {
  std::vector<std::size_t> order(folders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (kind == kCandidates && recipe_.average.best) {
    std::vector<double> values;
    for (const std::string& folder : folders) values.push_back(value_of(folder));
    // Among equal ones, the older ones stay, since they come first.
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return recipe_.keep_highest ? values[a] > values[b] : values[a] < values[b];
    });
  } else {
    std::reverse(order.begin(), order.end());
  }
  order.resize(std::min(order.size(), kind == kBest ? std::size_t{1} : static_cast<std::size_t>(recipe_.average.number)));
  std::vector<bool> is_needed(folders.size(), false);
  for (const std::size_t i : order) is_needed[i] = true;
  return is_needed;
}

// Removes the models that neither this run needs nor one that continues from its last checkpoint.
void BestModels::drop_unneeded(const std::string& kind) const {
  if (kind == kCandidates && recipe_.average.number == 0) return;
  prune_checkpoints(layout_.root, std::numeric_limits<int>::max(), kind);  // removes only leftovers
  const std::vector<std::string> all = complete_checkpoints(layout_.root, kind);
  const auto end = std::find_if(all.begin(), all.end(), [&](const std::string& folder) { return !is_saved(kind, folder); });
  const std::vector<bool> now = needed(kind, all);
  std::vector<bool> then = needed(kind, {all.begin(), end});
  then.resize(all.size(), false);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!now[i] && !then[i]) remove_checkpoint(all[i]);
  }
}

// Whether it belongs to a step up to that of the last checkpoint.
bool BestModels::is_saved(const std::string& kind, const std::string& folder) const {
  const std::string last = checkpoint_folder(layout_.root, saved_, kind);
  // The numbers of equal length have the same width.
  return folder.size() < last.size() || (folder.size() == last.size() && folder <= last);
}

}  // namespace graphrun
