// The checks of `graphrun check`, and the summary of a valid graph or job.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"

namespace graphrun {

// Whether a text is a job: by the line "# proto-message: graphrun.Job", otherwise by its fields.
bool is_job(std::string_view text);

// load_graph for `command` ("graphrun run"), which does not accept a job. For a job, throws UserError (E0222) that says how to
// name its graph.
ir::Graph load_graph_alone(const GraphRequest& request, const std::string& command);

// Each of these returns a summary, and throws UserError with every mistake.
std::string validate_graph(const std::string& path, const std::vector<GraphRequest::Setting>& settings,
                           std::vector<Diagnostic>& warnings);
// `text`: the contents of the job's file. Also compiles the network for training and for its reports, which checks that job and
// graph fit.
std::string validate_job(std::string_view text, const std::string& path, const std::vector<std::string>& settings,
                         std::vector<Diagnostic>& warnings);
// All mistakes in a job and in everything that it names: `mistakes`, which were found already, and those that validate_job
// finds.
std::vector<Diagnostic> with_all_mistakes(std::vector<Diagnostic> mistakes, std::string_view text, const std::string& path,
                                          const std::vector<std::string>& settings);

// Inputs, outputs, parameters and their count, states.
std::string graph_summary(const ir::Graph& graph);

}  // namespace graphrun
