// The data that a run trains and validates on, with the batches of its training.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/data/batch_source.h"
#include "tools/data/dataset.h"
#include "tools/model/evaluator.h"
#include "tools/model/model_folder.h"
#include "tools/train/recipe.h"
#include "tools/train/stepper.h"

namespace graphrun {

class TrainingData {
 public:
  // Reads all of it. `network` outlives it. `feeds`: what a step is fed. Throws what reading data and making batches throws.
  TrainingData(const Network& network, const Recipe& recipe, const std::vector<std::string>& feeds);

  const Dataset& train() const { return train_; }
  const Dataset* valid() const { return valid_ ? &*valid_ : nullptr; }  // null: none
  const Dataset* test() const { return test_ ? &*test_ : nullptr; }
  BatchSource& batches() { return *batches_; }
  const BatchSource& batches() const { return *batches_; }

  std::string summary() const;
  // What the job says of validations that no epoch of this data has; nothing where all is well.
  std::optional<Diagnostic> too_many_validations(const ValidateRule& rule) const;
  // Takes the memory of the largest batches of all sets, so that a run fails before its first step or not at all. Throws
  // UserError (kNoRoom, E0503).
  void reserve_memory(Stepper& stepper, Evaluator& evaluator) const;

 private:
  const DataSpec& data_;
  Dataset train_;
  std::optional<Dataset> valid_, test_;
  std::optional<BatchSource> batches_;
};

}  // namespace graphrun
