// The parameters that a run keeps beside its checkpoints: its model, and those of several validations for their mean.
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
  std::string reports;          // of their validation, JSON
  std::optional<double> value;  // of the kept report
};

class BestModels {
 public:
  BestModels(const ModelLayout& layout, const Recipe& recipe) : layout_(layout), recipe_(recipe) {}

  // These are the model from now on.
  void keep(const BestModel& model) const;
  // These may become a part of the mean; those that no longer can are removed. Does nothing where the recipe has no mean.
  void add_candidate(const BestModel& model) const;
  // The mean of all candidates, and the last of their steps; nothing where there are none.
  std::optional<BestModel> mean() const;
  // Removes what a run that was cut off left: of steps after `step`, which it has yet to take, and what is half saved or half
  // removed.
  void drop_leftovers(std::int64_t step) const;

 private:
  const ModelLayout& layout_;
  const Recipe& recipe_;
};

}  // namespace graphrun
