// Trained models as parts of another job's graph: several models form an ensemble; a single one lends its parameters to a
// different graph.
#pragma once

#include <string>
#include <vector>

#include "tools/model/model_folder.h"

namespace graphrun {

// The vocabularies of the job's fields, from the models that it loads. Throws UserError (kBadData): read_network's;
// (kInvalidGraph) E0668 if two models have different vocabularies of a field of the job, E0412 if none has the field.
Vocabularies loaded_vocabularies(const LoadedJob& job);
// The models' parameters, each named with its model's path in the job's graph. Throws UserError (kBadData): read_parameters'.
Parameters loaded_parameters(const LoadedJob& job);

// A network with its parameters.
struct Model {
  Network network;
  Parameters parameters;
};
// `path`: a folder written by training, or a job file that loads such folders; for a job, `settings` are its --set. Throws
// UserError: read_network's and read_parameters'; (kInvalidGraph) the job's mistakes; (kUsage) if the job loads no model, or if
// a folder is given settings that it does not take.
Model open_model(const std::string& path, const std::vector<std::string>& settings);

}  // namespace graphrun
