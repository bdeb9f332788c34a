#include "tools/model/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/json/json.h"

namespace graphrun {
namespace {

// Four decimals, or four significant digits for large and small numbers. NaN has no sign.
std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  const double magnitude = std::abs(value);
  return magnitude >= 1e6 || (magnitude > 0 && magnitude < 1e-3) ? fmt::format("{:.4g}", value) : fmt::format("{:.4f}", value);
}

}  // namespace

std::string results_text(const ReportResults& results) {
  std::string text;
  for (const auto& [name, value] : results) text += fmt::format("{}{} {}", text.empty() ? "" : "  ", name, number_text(value));
  return text;
}

std::string results_table(const std::vector<std::pair<std::string, ReportResults>>& rows) {
  if (rows.empty() || rows.front().second.empty()) return "";
  std::size_t title = 0;
  for (const auto& [name, results] : rows) title = std::max(title, name.size());
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < rows.front().second.size(); ++i) {
    std::size_t width = rows.front().second[i].first.size();
    for (const auto& [name, results] : rows) width = std::max(width, number_text(results[i].second).size());
    widths.push_back(width);
  }
  std::string text(title, ' ');
  for (std::size_t i = 0; i < widths.size(); ++i) text += fmt::format("  {:>{}}", rows.front().second[i].first, widths[i]);
  text += "\n";
  for (const auto& [name, results] : rows) {
    text += fmt::format("{:<{}}", name, title);
    for (std::size_t i = 0; i < widths.size(); ++i) text += fmt::format("  {:>{}}", number_text(results[i].second), widths[i]);
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json results_json(const ReportResults& results) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : results) json[name] = number_json(value);
  return json;
}

std::optional<ReportResults> parse_results(const std::string& text, const std::string& name) {
  const auto json = parse_ordered_json_or_discard(text);
  if (!json.is_object() || !json.contains(name) || !json[name].is_object()) return std::nullopt;
  ReportResults results;
  for (const auto& [key, value] : json[name].items()) {
    results.emplace_back(key, number_of(value));
  }
  return results;
}

double result_of(const ReportResults& results, const std::string& name) {
  for (const auto& [key, value] : results) {
    if (key == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace graphrun
