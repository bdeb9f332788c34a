#include "tools/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tools/report/spans.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

std::string cell(const Table& table, std::size_t column, double value) {
  if (std::isnan(value)) return "nan";  // it has no sign
  static const std::vector<std::string> kShares = {"precision", "recall", "f1", "accuracy"};
  const bool share = std::find(kShares.begin(), kShares.end(), table.columns[column]) != kShares.end();
  return !share && value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.4f}", value);
}

std::size_t width_of(const std::string& text) { return code_points(text).size(); }

std::string padding(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, width_of(text)), ' ');
}

}  // namespace

Table match_table(std::string title) {
  return {std::move(title), {"gold", "predicted", "correct", "precision", "recall", "f1"}, {}};
}

void add_matches(Table& table, const std::string& name, const Matches& matches) {
  table.rows.push_back({name,
                        {static_cast<double>(matches.gold), static_cast<double>(matches.predicted),
                         static_cast<double>(matches.correct), matches.precision(), matches.recall(), matches.f1()}});
}

std::string table_text(const Table& table) {
  std::size_t first = width_of(table.title);
  for (const auto& [name, values] : table.rows) first = std::max(first, width_of(name));
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t width = width_of(table.columns[i]);
    for (const auto& [name, values] : table.rows) width = std::max(width, cell(table, i, values[i]).size());
    widths.push_back(width);
  }
  std::string text = table.title + padding(table.title, first);
  for (std::size_t i = 0; i < widths.size(); ++i) text += "  " + padding(table.columns[i], widths[i]) + table.columns[i];
  text += "\n";
  for (const auto& [name, values] : table.rows) {
    text += name + padding(name, first);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string value = cell(table, i, values[i]);
      text += "  " + padding(value, widths[i]) + value;
    }
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json table_json(const Table& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::object();
  for (const auto& [name, values] : table.rows) rows[name] = values;
  return {{"title", table.title}, {"columns", table.columns}, {"rows", rows}};
}

}  // namespace graphrun
