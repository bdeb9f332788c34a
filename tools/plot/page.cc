#include "tools/plot/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "runtime/base/markup.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostMistakes = 10;  // in a list of them
constexpr std::size_t kMostWide = 8;       // classes of which columns have their names from left to right
constexpr const char* kPageStyle =
    "body { font: 14px/1.45 sans-serif; color: #222; max-width: 960px; margin: 24px auto; padding: 0 16px; }\n"
    "h1 { font-size: 22px; } h2, summary { font-size: 17px; font-weight: bold; margin: 28px 0 8px; }\n"
    "summary { cursor: pointer; }\n"
    "table { display: block; overflow-x: auto; border-collapse: collapse; margin: 8px 0 16px; font-size: 13px; }\n"
    "th, td { border: 1px solid #ccc; padding: 3px 8px; text-align: right; } th:first-child, td:first-child { text-align: "
    "left; }\n"
    "th { background: #f3f3f3; }\n"
    ".confusion th:first-child { position: sticky; left: 0; z-index: 1; } .confusion td.right { outline: 1px solid #0072b2; "
    "outline-offset: -1px; }\n"
    ".confusion { font-size: 12px; } .confusion th, .confusion td { padding: 2px 4px; } .confusion tr:first-child th { "
    "vertical-align: bottom; }\n"
    ".narrow span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap; }\n"
    ".confusion td.sum { background: #fafafa; color: #555; }\n"
    "pre { background: #f7f7f7; padding: 10px; overflow-x: auto; font-size: 12px; white-space: pre-wrap; }\n"
    "img { max-width: 100%; }\n";

// Everything but letters, digits and a few marks as %XX.
std::string percent_encoded(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-_.~ =:/;,()").find(c) != std::string_view::npos) {
      safe += c;
    } else {
      safe += fmt::format("%{:02X}", byte);
    }
  }
  return safe;
}

bool is_whole(double value) { return value == std::floor(value) && std::abs(value) < 1e15; }

std::string html_cell(double value) {
  if (std::isnan(value)) return "–";
  return is_whole(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.4f}", value);
}

// Blue for what is right, orange for mistakes. Shares differ by orders of magnitude, so a color's strength is the square root
// of its share.
std::string confusion_cell(const Table& table, std::size_t r, std::size_t c, double sum) {
  const auto& [name, values] = table.rows[r];
  if (values[c] == 0) return r == c ? "<td class=\"right\"></td>" : "<td></td>";
  const double share = sum > 0 ? values[c] / sum : 0;
  return fmt::format("<td{} style=\"background: rgba({}, {:.2f})\" title=\"{} as {}: {} of {}, {:.1f} %\">{}</td>",
                     r == c ? " class=\"right\"" : "", r == c ? "0, 114, 178" : "230, 120, 0", 0.6 * std::sqrt(share),
                     escaped(name), escaped(table.columns[c]), html_cell(values[c]), html_cell(sum), 100 * share,
                     html_cell(values[c]));
}

std::string most_frequent_mistakes(const Table& table, const std::vector<double>& sums) {
  struct Confusion {
    std::size_t r = 0, c = 0;
    double count = 0;
  };
  std::vector<Confusion> mistakes;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (r != c && table.rows[r].second[c] > 0) mistakes.push_back({r, c, table.rows[r].second[c]});
    }
  }
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const Confusion& a, const Confusion& b) { return a.count > b.count; });
  if (mistakes.size() > kMostMistakes) mistakes.resize(kMostMistakes);
  std::vector<std::vector<std::string>> rows = {{"gold", "predicted", "count", "of its class"}};
  for (const Confusion& mistake : mistakes) {
    rows.push_back({table.rows[mistake.r].first, table.columns[mistake.c], html_cell(mistake.count),
                    fmt::format("{:.1f} %", 100 * mistake.count / sums[mistake.r])});
  }
  return mistakes.empty() ? "" : "<p>the most frequent mistakes</p>\n" + html_table(rows);
}

// Classes that never occur, in the data or as predictions, are left out.
std::string html_confusions(const Table& table) {
  const std::size_t n = table.rows.size();
  std::vector<double> of_rows(n), of_columns(n);
  double all = 0, right = 0;
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < n; ++c) {
      const double count = table.rows[r].second[c];
      of_rows[r] += count, of_columns[c] += count, all += count;
      if (r == c) right += count;
    }
  }
  const auto occurs = [&](std::size_t i) { return of_rows[i] > 0 || of_columns[i] > 0; };
  std::string html =
      fmt::format("<p>{}; blue: right, orange: mistakes, stronger for a greater share of the row</p>\n", escaped(table.title));
  std::size_t classes = 0;
  for (std::size_t i = 0; i < n; ++i) classes += occurs(i) ? 1 : 0;
  html += fmt::format("<table class=\"confusion{}\">\n<tr><th></th>", classes > kMostWide ? " narrow" : "");
  for (std::size_t c = 0; c < n; ++c) {
    if (occurs(c)) html += fmt::format("<th><span>{}</span></th>", escaped(table.columns[c]));
  }
  html += "<th>all</th><th>right</th></tr>\n";
  const auto share = [](double part, double whole) { return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "–"; };
  for (std::size_t r = 0; r < n; ++r) {
    if (!occurs(r)) continue;
    html += fmt::format("<tr><th>{}</th>", escaped(table.rows[r].first));
    for (std::size_t c = 0; c < n; ++c) {
      if (occurs(c)) html += confusion_cell(table, r, c, of_rows[r]);
    }
    html += fmt::format("<td class=\"sum\">{}</td><td class=\"sum\">{}</td></tr>\n", html_cell(of_rows[r]),
                        share(table.rows[r].second[r], of_rows[r]));
  }
  html += "<tr><th>all</th>";
  for (std::size_t c = 0; c < n; ++c) {
    if (occurs(c)) html += fmt::format("<td class=\"sum\">{}</td>", html_cell(of_columns[c]));
  }
  html += fmt::format("<td class=\"sum\">{}</td><td class=\"sum\">{}</td></tr>\n</table>\n", html_cell(all), share(right, all));
  return html + most_frequent_mistakes(table, of_rows);
}

}  // namespace

std::string html_page(const std::string& title, const std::vector<PageSection>& sections, int refresh) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  if (refresh > 0) html += fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", refresh);
  html += fmt::format("<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n", escaped(title), kPageStyle);
  for (const PageSection& section : sections) {
    if (section.html.empty()) continue;
    if (section.folded) {
      html += fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped(section.title), section.html);
    } else {
      html += fmt::format("<h2>{}</h2>\n{}", escaped(section.title), section.html);
    }
  }
  return html + "</body>\n</html>\n";
}

std::string svg_image(std::string_view svg, std::string_view description) {
  return fmt::format("<img alt=\"{}\" src=\"data:image/svg+xml,{}\">\n", escaped(description), percent_encoded(svg));
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<table>\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    html += "<tr>";
    for (const std::string& cell : rows[r]) html += fmt::format("<{0}>{1}</{0}>", r == 0 ? "th" : "td", escaped(cell));
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string html_figures(const Table& table) {
  if (table.is_confusion) return html_confusions(table);
  std::string html = fmt::format("<table>\n<tr><th>{}</th>", escaped(table.title));
  for (const std::string& column : table.columns) html += fmt::format("<th>{}</th>", escaped(column));
  html += "</tr>\n";
  // The figures of a column are all whole, or all have decimals.
  std::vector<bool> decimals(table.columns.size());
  for (const auto& [name, values] : table.rows) {
    for (std::size_t c = 0; c < values.size(); ++c)
      decimals[c] = decimals[c] || (!std::isnan(values[c]) && !is_whole(values[c]));
  }
  for (const auto& [name, values] : table.rows) {
    html += fmt::format("<tr><td>{}</td>", escaped(name));
    for (std::size_t c = 0; c < values.size(); ++c) {
      const bool as_decimal = decimals[c] && !std::isnan(values[c]);
      html += fmt::format("<td>{}</td>", as_decimal ? fmt::format("{:.4f}", values[c]) : html_cell(values[c]));
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string preformatted(std::string_view text) {
  std::string html = "<pre>";
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      html += escaped(line) + "\n";
      line.clear();
    } else {
      line += c;
    }
  }
  return html + escaped(line) + "</pre>\n";
}

}  // namespace graphrun
