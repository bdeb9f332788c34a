// Trained models that fill the graph of another job: several of them an ensemble, one of them a graph that uses its parameters
// otherwise.
#pragma once

#include <string>
#include <vector>

#include "tools/model/model_folder.h"

namespace graphrun {

// The vocabularies of the job's fields, as the models that it loads have them. Throws UserError (kBadData): read_network's;
// (kInvalidGraph) E0668 where two of them differ in a field that the job has, E0412 where none has a field.
Vocabularies loaded_vocabularies(const LoadedJob& job);
// The models' parameters, each with its path in the job's graph before its name. Throws UserError (kBadData): read_parameters'.
Parameters loaded_parameters(const LoadedJob& job);

// What runs on text: a network with its parameters.
struct Model {
  Network network;
  Parameters parameters;
};
// `path`: a folder that training made, or the file of a job that loads such folders; then `settings` are its --set. Throws
// UserError: read_network's and read_parameters'; the job's mistakes (kInvalidGraph), and (kUsage) where it loads no model, or
// where a folder is given settings.
Model open_model(const std::string& path, const std::vector<std::string>& settings);

}  // namespace graphrun
