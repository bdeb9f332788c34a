#include "tools/plot/page.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "runtime/base/markup.h"

namespace graphrun {
namespace {

constexpr const char* kPageStyle =
    "body { font: 14px/1.45 sans-serif; color: #222; max-width: 960px; margin: 24px auto; padding: 0 16px; }\n"
    "h1 { font-size: 22px; } h2, summary { font-size: 17px; font-weight: bold; margin: 28px 0 8px; }\n"
    "summary { cursor: pointer; }\n"
    "table { display: block; overflow-x: auto; border-collapse: collapse; margin: 8px 0 16px; font-size: 13px; }\n"
    "th, td { border: 1px solid #ccc; padding: 3px 8px; text-align: right; } th:first-child, td:first-child { text-align: "
    "left; }\n"
    "th { background: #f3f3f3; }\n"
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

std::string html_cell(double value) {
  if (std::isnan(value)) return "–";
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value) : fmt::format("{:.4f}", value);
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

std::string html_table(const Table& table, bool shaded) {
  std::string html = fmt::format("<table>\n<tr><th>{}</th>", escaped(table.title));
  for (const std::string& column : table.columns) html += fmt::format("<th>{}</th>", escaped(column));
  html += "</tr>\n";
  for (const auto& [name, values] : table.rows) {
    double sum = 0;
    for (const double value : values) sum += value;
    html += fmt::format("<tr><td>{}</td>", escaped(name));
    for (const double value : values) {
      const double share = shaded && sum > 0 ? value / sum : 0;
      const std::string color = shaded ? fmt::format(" style=\"background: rgba(0, 114, 178, {:.2f})\"", 0.7 * share) : "";
      html += fmt::format("<td{}>{}</td>", color, html_cell(value));
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
