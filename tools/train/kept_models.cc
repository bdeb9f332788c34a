#include "tools/train/kept_models.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/checkpoint.h"
#include "runtime/file.h"
#include "tools/model/mean.h"

namespace graphrun {
namespace {

const std::string kBest = "best", kCandidates = "candidates";

void save(const std::string& root, const std::string& kind, const KeptModel& model) {
  Checkpoint checkpoint;
  checkpoint.groups["parameters"] = model.parameters;
  checkpoint.texts["reports.json"] = model.reports;
  if (model.value) checkpoint.texts["value.json"] = nlohmann::json(*model.value).dump() + "\n";
  save_checkpoint(checkpoint_folder(root, model.step, kind), checkpoint);
}

// Complete ones, oldest first.
std::vector<std::string> candidates(const std::string& root) {
  std::vector<std::string> folders;
  const std::filesystem::path all = root + "/" + kCandidates;
  if (!std::filesystem::exists(all)) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(all)) {
    if (std::filesystem::exists(entry.path() / "manifest.json")) folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

double value_of(const std::string& folder) {
  return nlohmann::json::parse(CheckpointReader(folder).text("value.json")).get<double>();
}

}  // namespace

void KeptModels::keep(const KeptModel& model) const {
  save(layout_.root, kBest, model);
  prune_checkpoints(layout_.root, 1, kBest);
}

void KeptModels::add_candidate(const KeptModel& model) const {
  if (recipe_.average.number == 0) return;
  if (!recipe_.average.best) {
    save(layout_.root, kCandidates, model);
    return prune_checkpoints(layout_.root, static_cast<int>(recipe_.average.number), kCandidates);
  }
  if (!model.value || std::isnan(*model.value)) return;
  save(layout_.root, kCandidates, model);
  std::vector<std::string> folders = candidates(layout_.root);
  // Of equal ones the older stay: they come first.
  std::stable_sort(folders.begin(), folders.end(), [&](const std::string& a, const std::string& b) {
    return recipe_.keep_highest ? value_of(a) > value_of(b) : value_of(a) < value_of(b);
  });
  for (std::size_t i = static_cast<std::size_t>(recipe_.average.number); i < folders.size(); ++i) remove_folder(folders[i]);
}

std::optional<KeptModel> KeptModels::mean() const {
  const std::vector<std::string> folders = candidates(layout_.root);
  if (folders.empty()) return std::nullopt;
  Mean mean;
  for (const std::string& folder : folders) mean.add(CheckpointReader(folder).group("parameters"), folder);
  KeptModel model;
  model.parameters = mean.result();
  return model;
}

void KeptModels::drop_newer_than(std::int64_t step) const {
  for (const std::string& kind : {kBest, kCandidates}) {
    const std::string last = checkpoint_folder(layout_.root, step, kind);
    while (const std::optional<std::string> newest = newest_complete(layout_.root, kind)) {
      if (newest->size() < last.size() || (newest->size() == last.size() && *newest <= last)) break;  // numbers of one width
      remove_folder(*newest);
    }
  }
}

}  // namespace graphrun
