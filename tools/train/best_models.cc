#include "tools/train/best_models.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
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
                    "'" + folder + "' is no sound checkpoint: its value.json holds no number");
  }
  return number;
}

}  // namespace

void BestModels::keep(const BestModel& model) const {
  save(layout_.root, kBest, model);
  prune_checkpoints(layout_.root, 1, kBest);
}

void BestModels::add_candidate(const BestModel& model) const {
  if (recipe_.average.number == 0) return;
  if (!recipe_.average.best) {
    save(layout_.root, kCandidates, model);
    return prune_checkpoints(layout_.root, static_cast<int>(recipe_.average.number), kCandidates);
  }
  if (!model.value || std::isnan(*model.value)) return;
  save(layout_.root, kCandidates, model);
  prune_checkpoints(layout_.root, std::numeric_limits<int>::max(), kCandidates);  // removes only leftovers
  std::vector<std::string> folders = complete_checkpoints(layout_.root, kCandidates);
  // Among equal ones, the older ones stay, since they come first.
  std::stable_sort(folders.begin(), folders.end(), [&](const std::string& a, const std::string& b) {
    return recipe_.keep_highest ? value_of(a) > value_of(b) : value_of(a) < value_of(b);
  });
  for (std::size_t i = static_cast<std::size_t>(recipe_.average.number); i < folders.size(); ++i) remove_checkpoint(folders[i]);
}

std::optional<BestModel> BestModels::mean() const {
  const std::vector<std::string> folders = complete_checkpoints(layout_.root, kCandidates);
  if (folders.empty()) return std::nullopt;
  Mean mean;
  for (const std::string& folder : folders) mean.add(CheckpointReader(folder).group("parameters"), folder);
  BestModel model;
  model.parameters = mean.result();
  return model;
}

void BestModels::drop_leftovers(std::int64_t step) const {
  for (const std::string& kind : {kBest, kCandidates}) {
    prune_checkpoints(layout_.root, std::numeric_limits<int>::max(), kind);
    const std::string last = checkpoint_folder(layout_.root, step, kind);
    while (const std::optional<std::string> newest = newest_complete(layout_.root, kind)) {
      if (newest->size() < last.size() || (newest->size() == last.size() && *newest <= last))
        break;  // the numbers have the same width
      remove_checkpoint(*newest);
    }
  }
}

}  // namespace graphrun
