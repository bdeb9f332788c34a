// The parameters that a run keeps in addition to its checkpoints: its model, and those of several validations for their mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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
  // Adds candidates for the mean; removes those that can no longer be part of it. Does nothing if the recipe has no mean.
  void add_candidate(const BestModel& model) const;
  // The mean of all candidates, with the last of their steps; nullopt if there are none.
  std::optional<BestModel> mean() const;
  // Removes what an interrupted run left: parameters of steps after `step`, and incomplete saves or removals.
  void drop_leftovers(std::int64_t step) const;

 private:
  const ModelLayout& layout_;
  const Recipe& recipe_;
};

}  // namespace graphrun
