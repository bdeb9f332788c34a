// Tables of figures, as text and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace graphrun {

struct Matches;

struct Table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  bool is_confusion = false;  // how often a row's class was predicted as a column's; both have the same classes
};

// Columns gold, predicted, correct, precision, recall, f1.
Table match_table(std::string title);
void add_matches(Table& table, const std::string& name, const Matches& matches);

// Integers in full, other numbers with four decimals.
std::string table_text(const Table& table);
// {"title": …, "columns": […], "rows": {name: […]}}
nlohmann::ordered_json table_json(const Table& table);

}  // namespace graphrun
