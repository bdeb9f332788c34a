// The data that a run trains and validates on, and its training batches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/data/batch_source.h"
#include "tools/data/dataset_reader.h"
#include "tools/model/evaluator.h"
#include "tools/model/model_folder.h"
#include "tools/train/recipe.h"
#include "tools/train/stepper.h"

namespace graphrun {

// The options with which training divides its data into batches: in a different order in each epoch unless the data is a
// stream, and with a bucket_by so that the batches of an update have similar lengths.
BatchOptions training_batches(const LoadedJob& job);

struct RunSets {
  Dataset train;
  std::optional<Dataset> valid, test;
};
// Reads the files of the job. `training`: the examples from build_network; if absent, the training files are read too. Throws
// what read_dataset throws.
RunSets read_sets(const Network& network, std::optional<ReadExamples> training);

class TrainingData {
 public:
  // `network` must outlive it. `feeds`: the feeds of a step. Throws what making batches throws.
  TrainingData(const Network& network, const std::vector<std::string>& feeds, RunSets sets);

  const Dataset& train() const { return sets_.train; }
  const Dataset* valid() const { return sets_.valid ? &*sets_.valid : nullptr; }  // null if there is none
  const Dataset* test() const { return sets_.test ? &*sets_.test : nullptr; }
  BatchSource& batches() { return batches_; }
  const BatchSource& batches() const { return batches_; }

  std::string summary() const;
  // A warning if the job asks for more validations than an epoch of this data can have.
  std::optional<Diagnostic> too_many_validations(const ValidateRule& rule) const;
  // Allocates the memory of the largest batches of all sets, so that a run that lacks memory fails before its first step.
  // Throws UserError (kNoRoom, E0503).
  void reserve_memory(Stepper& stepper, Evaluator& evaluator) const;

 private:
  const DataSpec& data_;
  const RunSets sets_;
  BatchSource batches_;
};

}  // namespace graphrun
