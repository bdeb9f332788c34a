// The parameters that a run keeps in addition to its checkpoints: its model, and those of several validations for their mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/safetensors.h"
#include "tools/model/layout.h"
#include "tools/train/recipe.h"

namespace graphrun {

struct BestModel {
  std::int64_t step = 0;
  NamedTensors parameters;
  std::string reports;          // reports of their validation, as JSON
  std::optional<double> value;  // value of the kept report
};

class BestModels {
 public:
  BestModels(const ModelLayout& layout, const Recipe& recipe) : layout_(layout), recipe_(recipe) {}

  // Makes these parameters the model.
  void keep(const BestModel& model) const;
  // Adds candidates for the mean. Does nothing if the recipe has no mean.
  void add_candidate(const BestModel& model) const;
  // The mean of the candidates; nullopt if there are none.
  std::optional<BestModel> mean() const;
  // Call it when a checkpoint of this step exists. Until then, models that a run from the previous checkpoint would need stay:
  // the process may be killed, and the continued run may have an earlier end.
  void saved(std::int64_t step);
  // For a run that continues from the checkpoint of this step: removes what an interrupted run left, that is, parameters of
  // later steps, and incomplete saves or removals.
  void drop_leftovers(std::int64_t step);

 private:
  // Whether the run needs a model of this kind, for each of these folders, which are those of all such models, oldest first.
  std::vector<bool> needed(const std::string& kind, const std::vector<std::string>& folders) const;
  void drop_unneeded(const std::string& kind) const;
  bool is_saved(const std::string& kind, const std::string& folder) const;

  const ModelLayout& layout_;
  const Recipe& recipe_;
  std::int64_t saved_ = 0;  // step of the last checkpoint
};

}  // namespace graphrun
