// The numbers of reports, as text and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace graphrun {

using ReportResults = std::vector<std::pair<std::string, double>>;  // by name, in the order of the job

// "loss 0.1234  f1 0.9312"
std::string results_text(const ReportResults& results);
// A line for each set under a line of names:
//          loss      f1
// valid  0.1234  0.9312
std::string results_table(const std::vector<std::pair<std::string, ReportResults>>& rows);

nlohmann::ordered_json results_json(const ReportResults& results);
// The results under `name` in a JSON text; nullopt if there are none.
std::optional<ReportResults> parse_results(const std::string& text, const std::string& name);

// The number of that name; NaN if there is none.
double result_of(const ReportResults& results, const std::string& name);

}  // namespace graphrun
