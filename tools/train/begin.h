// How a new run's parameters begin where other files have them: word vectors, another model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/model/model_folder.h"
#include "tools/train/recipe.h"
#include "tools/train/stepper.h"

namespace graphrun {

// What there is to tell: for the log, and as lines of metrics.
struct BeginNotes {
  std::vector<std::string> log;
  std::vector<nlohmann::ordered_json> metrics;
};

// Over what `initialize` has drawn: first word vectors, then the other models, in the order of the job. Throws UserError:
// (kInvalidGraph, E0313) a parameter that is no row for each entry; (kBadData) E0656 bad vectors, E0669 where the other model
// has not the same parameters, those of reading files and models.
BeginNotes begin_parameters(const Recipe& recipe, const Network& network, Stepper& stepper, std::vector<Diagnostic>& warnings);

}  // namespace graphrun
