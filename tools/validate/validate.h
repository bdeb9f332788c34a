// What `graphrun check` finds in a graph or a job, and how it sums up one that is sound.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"

namespace graphrun {

// By the line "# proto-message: graphrun.Job", else by its fields.
bool is_job(std::string_view text);

// load_graph of a file for `command` ("graphrun run"), which takes no job: of one the mistake is that it is a job, and how to
// name its graph. Throws UserError (E0222).
ir::Graph load_graph_alone(const GraphRequest& request, const std::string& command);

// Each returns lines that say what it is, and throws UserError with every mistake.
std::string validate_graph(const std::string& path, const std::vector<GraphRequest::Setting>& settings,
                           std::vector<Diagnostic>& warnings);
// `text` is that of the job's file. Also compiles the network for training and for its reports, which holds job and graph
// against each other.
std::string validate_job(std::string_view text, const std::string& path, const std::vector<std::string>& settings,
                         std::vector<Diagnostic>& warnings);
// What is wrong with a job that has `mistakes`, and with all that it names: these and what validate_job finds.
std::vector<Diagnostic> with_all_mistakes(std::vector<Diagnostic> mistakes, std::string_view text, const std::string& path,
                                          const std::vector<std::string>& settings);

// Inputs, outputs, parameters and their count, states.
std::string graph_summary(const ir::Graph& graph);

}  // namespace graphrun
