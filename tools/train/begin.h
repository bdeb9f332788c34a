// Initializes a new run's parameters from other files: word vectors, another model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/model/model_folder.h"
#include "tools/train/recipe.h"
#include "tools/train/stepper.h"

namespace graphrun {

// Notes for the log, and lines of metrics.
struct BeginNotes {
  std::vector<std::string> log;
  std::vector<nlohmann::ordered_json> metrics;
};

// Overwrites the values that `initialize` has drawn: first with word vectors, then with the other models, in the order of the
// job. Throws UserError: (kInvalidGraph) E0313 for a parameter that does not have a row for each entry; (kBadData) E0656 for
// bad vectors, E0669 if the other model has different parameters; errors of reading files and models.
BeginNotes begin_parameters(const Recipe& recipe, const Network& network, Stepper& stepper, std::vector<Diagnostic>& warnings);

}  // namespace graphrun
