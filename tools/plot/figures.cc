#include "tools/plot/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "compiler/compile.h"
#include "compiler/ir/builder.h"
#include "runtime/base/markup.h"
#include "runtime/execute/executable.h"
#include "tools/json/json.h"
#include "tools/model/expression.h"
#include "tools/plot/chart.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

constexpr const char* kLineColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"};
constexpr double kCharacter = 7.6;  // the width of one at 13 pixels, about
constexpr double kGap = 14;

double text_width(const std::string& text) {
  double width = 0;
  for (const std::string_view c : code_points(text)) width += c.size() >= 3 ? 13 : kCharacter;  // of Chinese, say
  return width;
}

std::string picture(double width, double height, const std::string& body) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\">\n"
             "<style>\ntext {{ font: 13px sans-serif; fill: #222; }}\n.title {{ font-weight: bold; }}\n.small {{ font-size: "
             "11px; }}\n"
             ".axis {{ stroke: #333; }}\n.grid {{ stroke: #ddd; }}\n</style>\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "fill=\"#fff\"/>\n",
             width, height) +
         body + "</svg>\n";
}

std::string text_at_point(double x, double y, const std::string& text, const char* anchor, const char* kind = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y, anchor, kind,
                     escaped(text));
}

std::string straight(const char* kind, double x1, double y1, double x2, double y2) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind, x1, y1, x2, y2);
}

// A rectangle with axes for numbers: `x` may be absent for bars.
struct Frame {
  double left = 62, top = 40, right = 500, bottom = 280;
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;

  double x(double value) const { return left + (value - x_low) / std::max(1e-300, x_high - x_low) * (right - left); }
  double y(double value) const { return bottom - (value - y_low) / std::max(1e-300, y_high - y_low) * (bottom - top); }
  std::string rows() const {
    std::string svg;
    for (const double tick : nice_ticks(y_low, y_high, 5)) {
      svg += straight("grid", left, y(tick), right, y(tick));
      svg += text_at_point(left - 6, y(tick) + 4, fmt::format("{:.4g}", tick + 0.0), "end", "small");
    }
    return svg + straight("axis", left, top, left, bottom) + straight("axis", left, bottom, right, bottom);
  }
  std::string columns() const {
    std::string svg;
    for (const double tick : nice_ticks(x_low, x_high, 8)) {
      svg += straight("axis", x(tick), bottom, x(tick), bottom + 4);
      svg += text_at_point(x(tick), bottom + 17, fmt::format("{:.4g}", tick + 0.0), "middle", "small");
    }
    return svg;
  }
};

std::optional<double> group_number(const std::string& name) {
  const std::string first = name.substr(0, name.find('-', 1));  // "10-19" begins at 10
  double value = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), value);
  if (error != std::errc() || end != first.data() + first.size()) return std::nullopt;
  return value;
}

std::size_t column_of(const Table& table, const char* name) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  return static_cast<std::size_t>(found - table.columns.begin());
}

bool by_numbers(const Table& table) {
  return std::all_of(table.rows.begin(), table.rows.end(), [](const auto& row) { return group_number(row.first).has_value(); });
}

struct GroupPoint {
  std::string name;
  double x = 0, mean = 0, deviation = 0;
};

// Points of a table: of a mean, a sum or a score of text; for a correlation, of both of its means and of the correlation.
std::vector<std::pair<std::string, std::vector<GroupPoint>>> series_of(const std::string& name, const Table& table) {
  std::vector<std::pair<std::string, std::vector<GroupPoint>>> all;
  const std::size_t deviation = column_of(table, "deviation");
  const bool correlates = column_of(table, "correlation") < table.columns.size();
  for (std::size_t at = 0; at < table.columns.size(); ++at) {
    const std::string& column = table.columns[at];
    if (column == "count" || column == "deviation") continue;
    std::vector<GroupPoint> points;
    for (const auto& [group, values] : table.rows) {
      points.push_back({group, group_number(group).value_or(0), values[at], deviation < values.size() ? values[deviation] : 0});
    }
    const std::string title = !correlates ? name : name + ": " + (column == "mean" ? "mean of first" : column);
    all.emplace_back(title, std::move(points));
  }
  return all;
}

void widen(Frame& frame, const std::vector<GroupPoint>& points, bool& any) {
  for (const GroupPoint& p : points) {
    frame.y_low = any ? std::min(frame.y_low, p.mean - p.deviation) : p.mean - p.deviation;
    frame.y_high = any ? std::max(frame.y_high, p.mean + p.deviation) : p.mean + p.deviation;
    frame.x_low = any ? std::min(frame.x_low, p.x) : p.x;
    frame.x_high = any ? std::max(frame.x_high, p.x) : p.x;
    any = true;
  }
}

std::string line_with_band(const Frame& frame, const std::vector<GroupPoint>& points, const char* color) {
  std::string line, upper, lower;
  for (const GroupPoint& p : points) {
    line += fmt::format("{:.1f},{:.1f} ", frame.x(p.x), frame.y(p.mean));
    upper += fmt::format("{:.1f},{:.1f} ", frame.x(p.x), frame.y(p.mean + p.deviation));
    lower.insert(0, fmt::format("{:.1f},{:.1f} ", frame.x(p.x), frame.y(p.mean - p.deviation)));
  }
  return fmt::format(
      "<polygon points=\"{}{}\" fill=\"{}\" opacity=\"0.15\"/>\n<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" "
      "stroke-width=\"1.8\"/>\n",
      upper, lower, color, line, color);
}

// The picture's body, and its height.
std::pair<std::string, double> draw_lines(const std::vector<std::pair<std::string, Table>>& reports, double top) {
  std::vector<std::pair<std::string, std::vector<GroupPoint>>> series;
  for (const auto& [name, table] : reports) {
    for (auto& one : series_of(name, table)) series.push_back(std::move(one));
  }
  Frame frame;
  frame.top = top + 24 + 20 * static_cast<double>(series.size());
  frame.bottom = frame.top + 240;
  frame.right = 620;
  bool any = false;
  for (const auto& [name, points] : series) widen(frame, points, any);
  const double margin = 0.05 * std::max(1e-9, frame.y_high - frame.y_low);
  frame.y_low -= margin, frame.y_high += margin;
  std::string svg = frame.rows() + frame.columns();
  svg += text_at_point((frame.left + frame.right) / 2, frame.bottom + 34, reports.front().second.title, "middle", "small");
  for (std::size_t s = 0; s < series.size(); ++s) {
    const char* const color = kLineColors[s % std::size(kLineColors)];
    svg += line_with_band(frame, series[s].second, color);
    const double y = top + 20 + 20 * static_cast<double>(s);
    svg += fmt::format("<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"{3}\" stroke-width=\"1.8\"/>\n",
                       frame.left, y, frame.left + 28, color);
    svg += text_at_point(frame.left + 36, y + 4, series[s].first, "start");
  }
  return {svg, frame.bottom + 46};
}

std::pair<std::string, double> draw_bars(const std::string& name, const Table& table, double top) {
  const auto series = series_of(name, table);
  if (series.empty()) return {"", top};
  const std::vector<GroupPoint>& points = series.front().second;
  double label = 40;
  for (const GroupPoint& p : points) label = std::max(label, text_width(p.name));
  Frame frame;
  frame.left = label + 20, frame.right = label + 460;
  frame.top = top + 36, frame.bottom = frame.top + 22 * static_cast<double>(points.size());
  frame.x_low = 0, frame.x_high = 1e-12;
  for (const GroupPoint& p : points) {
    frame.x_low = std::min(frame.x_low, p.mean - p.deviation);
    frame.x_high = std::max(frame.x_high, p.mean + p.deviation);
  }
  std::string svg = text_at_point(frame.left, top + 22, name + " " + table.title, "start", "title") + frame.columns();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const GroupPoint& p = points[i];
    const double y = frame.top + 22 * static_cast<double>(i), from = frame.x(std::min(0.0, p.mean)),
                 to = frame.x(std::max(0.0, p.mean));
    svg += text_at_point(frame.left - 8, y + 15, p.name, "end");
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\" fill=\"#0072b2\" opacity=\"0.8\"/>\n",
                       from, y + 2, to - from);
    if (p.deviation > 0) svg += straight("axis", frame.x(p.mean - p.deviation), y + 10, frame.x(p.mean + p.deviation), y + 10);
  }
  return {svg + straight("axis", frame.left, frame.bottom, frame.right, frame.bottom), frame.bottom + 40};
}

// From blue over white to red.
std::string color_of(double share) {
  const auto mix = [&](int low, int middle, int high) {
    const double t = std::clamp(share, 0.0, 1.0);
    return static_cast<int>(t < 0.5 ? low + (middle - low) * t * 2 : middle + (high - middle) * (t - 0.5) * 2);
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0, 247, 213), mix(114, 247, 94), mix(178, 247, 0));
}

// The lines on which a grid has the value `level`, by marching squares; saddles are cut one way.
std::string contour(const Surface& surface, double level, const Frame& frame) {
  std::string path;
  const std::size_t n = surface.values.size();
  const double step = (surface.high - surface.low) / static_cast<double>(n - 1);
  for (std::size_t r = 0; r + 1 < n; ++r) {
    for (std::size_t c = 0; c + 1 < n; ++c) {
      const double x = surface.low + step * static_cast<double>(c), y = surface.low + step * static_cast<double>(r);
      const double a = surface.values[r][c], b = surface.values[r][c + 1], d = surface.values[r + 1][c],
                   e = surface.values[r + 1][c + 1];
      std::vector<std::pair<double, double>> cuts;
      const auto cut = [&](double from, double to, double x1, double y1, double x2, double y2) {
        if ((from < level) == (to < level)) return;
        const double t = (level - from) / (to - from);
        cuts.emplace_back(x1 + t * (x2 - x1), y1 + t * (y2 - y1));
      };
      cut(a, b, x, y, x + step, y);
      cut(b, e, x + step, y, x + step, y + step);
      cut(d, e, x, y + step, x + step, y + step);
      cut(a, d, x, y, x, y + step);
      for (std::size_t i = 0; i + 1 < cuts.size(); i += 2) {
        path += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", frame.x(cuts[i].first), frame.y(cuts[i].second),
                            frame.x(cuts[i + 1].first), frame.y(cuts[i + 1].second));
      }
    }
  }
  return path.empty() ? "" : fmt::format("<path d=\"{}\" stroke=\"#333\" stroke-width=\"0.8\" fill=\"none\"/>\n", path);
}

std::string draw_surface(const Surface& surface, double left) {
  Frame frame;
  frame.left = left + 50, frame.right = left + 350, frame.top = 40, frame.bottom = 340;
  frame.x_low = frame.y_low = surface.low, frame.x_high = frame.y_high = surface.high;
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  for (const auto& row : surface.values) {
    for (const double value : row) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, value), greatest = std::max(greatest, value);
    }
  }
  const double range = greatest > least ? greatest - least : 1;
  const std::size_t n = surface.values.size();
  const double cell = 300 / static_cast<double>(n);
  std::string svg = text_at_point(left + 200, 26, surface.title, "middle", "title");
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < n; ++c) {
      const double value = surface.values[r][c];
      svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
                         frame.left + cell * static_cast<double>(c), frame.bottom - cell * static_cast<double>(r + 1),
                         cell + 0.5, cell + 0.5, std::isfinite(value) ? color_of((value - least) / range) : "#888");
    }
  }
  for (const double level : nice_ticks(least, greatest, 8)) svg += contour(surface, level, frame);
  svg += frame.columns();
  for (const double tick : nice_ticks(surface.low, surface.high, 6))
    svg += text_at_point(frame.left - 6, frame.y(tick) + 4, fmt::format("{:.4g}", tick + 0.0), "end", "small");
  svg += text_at_point(left + 200, frame.bottom + 34, "x", "middle", "small") +
         text_at_point(left + 14, 194, "y", "middle", "small");
  for (int i = 0; i <= 20; ++i) {
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"15\" fill=\"{}\"/>\n", frame.right + 14,
                       frame.bottom - 14.3 * (i + 1), color_of(i / 20.0));
  }
  svg += text_at_point(frame.right + 34, frame.bottom, fmt::format("{:.3g}", least), "start", "small");
  return svg + text_at_point(frame.right + 34, frame.top + 10, fmt::format("{:.3g}", greatest), "start", "small");
}

[[noreturn]] void bad_figure(const std::string& path, const std::string& text, const std::string& help) {
  throw UserError(ExitCode::kBadData, "E0693 bad-figures", fmt::format("'{}': {}", path, text), {"help: " + help});
}

// A part of a figure.
struct FigurePart {
  double width = 0, height = 0;
  std::string svg;
};

// One part below the other.
std::string picture_of(const std::vector<FigurePart>& parts) {
  double width = 60, top = 0;
  std::string svg;
  for (const FigurePart& part : parts) {
    svg += fmt::format("<g transform=\"translate(0 {:.1f})\">\n{}</g>\n", top, part.svg);
    width = std::max(width, part.width), top += part.height;
  }
  return picture(width, top, svg);
}

FigurePart arcs_of(const WordWeights& sentence) {
  const auto& [words, weights] = sentence;
  std::vector<double> centers;
  double x = 20;
  for (const std::string& word : words) {
    const double width = text_width(word);
    centers.push_back(x + width / 2);
    x += width + kGap;
  }
  std::vector<std::pair<std::size_t, std::size_t>> arcs;
  double tallest = 0, heaviest = 0;
  for (std::size_t t = 1; t < words.size(); ++t) {
    const auto best = std::max_element(weights[t].begin(), weights[t].begin() + static_cast<std::ptrdiff_t>(t));
    arcs.emplace_back(t, static_cast<std::size_t>(best - weights[t].begin()));
    tallest = std::max(tallest, (centers[t] - centers[arcs.back().second]) / 2);
    heaviest = std::max(heaviest, *best);
  }
  const double rise = std::min(1.0, 160 / std::max(1.0, tallest)), base = 24 + tallest * rise;
  std::string svg;
  for (const auto& [from, to] : arcs) {
    const double radius = (centers[from] - centers[to]) / 2, share = heaviest > 0 ? weights[from][to] / heaviest : 0;
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}A{:.1f} {:.1f} 0 0 0 {:.1f} {:.1f}\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"{:.2f}\" "
        "opacity=\"{:.2f}\"><title>{} to {}: {:.4g}</title></path>\n",
        centers[from], base, radius, radius * rise, centers[to], base, 0.8 + 1.6 * share, 0.35 + 0.65 * share,
        escaped(words[from]), escaped(words[to]), weights[from][to]);
  }
  for (std::size_t w = 0; w < words.size(); ++w) svg += text_at_point(centers[w], base + 18, words[w], "middle");
  return {x + 6, base + 34, std::move(svg)};
}

FigurePart matrix_of(const WordWeights& sentence) {
  constexpr double kCell = 22;
  const auto& [words, weights] = sentence;
  double widest = 0, least = 0, greatest = 0;
  for (const std::string& word : words) widest = std::max(widest, text_width(word));
  for (const auto& row : weights) {
    for (const double value : row) least = std::min(least, value), greatest = std::max(greatest, value);
  }
  const double left = widest + 20, top = widest + 20;
  std::string svg;
  for (std::size_t c = 0; c < words.size(); ++c) {
    const double x = left + kCell * static_cast<double>(c) + 15;
    svg += fmt::format("<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\">{}</text>\n", x, top - 6, escaped(words[c]));
  }
  const double largest = std::max(greatest, -least);
  for (std::size_t r = 0; r < words.size(); ++r) {
    const double y = top + kCell * static_cast<double>(r);
    svg += text_at_point(left - 6, y + 15, words[r], "end");
    for (std::size_t c = 0; c < words.size(); ++c) {
      const double share = largest > 0 ? weights[r][c] / largest : 0;
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{:.3f}\" "
          "stroke=\"#ddd\"><title>{} "
          "{}: {:.4g}</title></rect>\n",
          left + kCell * static_cast<double>(c), y, kCell, kCell, share < 0 ? "#d55e00" : "#0072b2", std::abs(share),
          escaped(words[r]), escaped(words[c]), weights[r][c]);
    }
  }
  const double size = kCell * static_cast<double>(words.size()) + 14;
  return {left + size, top + size, std::move(svg)};
}

}  // namespace

std::string draw_arcs(const std::vector<WordWeights>& sentences) {
  std::vector<FigurePart> parts;
  for (const WordWeights& sentence : sentences) parts.push_back(arcs_of(sentence));
  return picture_of(parts);
}

std::string draw_matrices(const std::vector<WordWeights>& sentences) {
  std::vector<FigurePart> parts;
  for (const WordWeights& sentence : sentences) parts.push_back(matrix_of(sentence));
  return picture_of(parts);
}

std::string draw_groups(const std::vector<std::pair<std::string, Table>>& reports) {
  std::vector<std::pair<std::string, Table>> lines;
  std::string svg;
  double top = 0;
  // Reports by the same numbers share a picture.
  std::vector<std::string> titles;
  for (const auto& [name, table] : reports) {
    if (by_numbers(table) && std::find(titles.begin(), titles.end(), table.title) == titles.end())
      titles.push_back(table.title);
  }
  for (const std::string& title : titles) {
    lines.clear();
    for (const auto& report : reports) {
      if (report.second.title == title && by_numbers(report.second)) lines.push_back(report);
    }
    const auto [body, bottom] = draw_lines(lines, top);
    svg += body, top = bottom;
  }
  for (const auto& [name, table] : reports) {
    if (by_numbers(table)) continue;
    const auto [body, bottom] = draw_bars(name, table, top);
    svg += body, top = bottom;
  }
  return picture(700, top + 10, svg);
}

std::string draw_surfaces(const std::vector<Surface>& surfaces) {
  std::string svg;
  double left = 0;
  for (const Surface& surface : surfaces) {
    svg += draw_surface(surface, left);
    left += 430;
  }
  return picture(left + 10, 390, svg);
}

Surface surface_of(const std::string& expression, double low, double high, int points) {
  ir::Graph graph;
  graph.name = "surface";
  ir::Builder builder(graph);
  const ir::TensorType row{Type::kFloat, {Dim(Symbol::named("points"))}};
  const ir::ValueId x = builder.input("x", row), y = builder.input("y", row);
  std::vector<Diagnostic> problems;
  ir::SourceText text(expression);
  text.file = intern_text("--surface", expression + "\n");
  text.pieces.push_back({0, 1, 1});
  const ir::ValueId value =
      add_expression(graph, text, "surface", {.field = "--surface", .code = "E0692 bad-surface", .inputs = true}, problems);
  for (Diagnostic& problem : problems) {
    if (problem.notes.empty()) problem.notes.emplace_back("help: a surface is an expression over x and y: sigmoid(x - y)");
  }
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
  // A constant, or a function of one of them, is a surface too.
  ir::Builder more(graph);
  graph.outputs = {{"surface", more.op("add", {value, more.op("mul", {more.op("add", {x, y}), more.constant(0)})})}};
  Executable executable(compile(graph), std::make_shared<Variables>());
  Surface surface{expression, low, high, {}};
  const std::int64_t n = points;
  Tensor at_x(DType::kFloat32, {n}), at_y(DType::kFloat32, {n});
  const auto place = [&](std::int64_t i) {
    return static_cast<float>(low + (high - low) * static_cast<double>(i) / static_cast<double>(n - 1));
  };
  for (std::int64_t i = 0; i < n; ++i) at_x.span<float>()[static_cast<std::size_t>(i)] = place(i);
  for (std::int64_t r = 0; r < n; ++r) {
    for (float& element : at_y.span<float>()) element = place(r);
    const Tensor values = executable.run({{"x", at_x}, {"y", at_y}})[0];
    surface.values.emplace_back();
    for (std::int64_t c = 0; c < n; ++c) surface.values.back().push_back(values.at(c));
  }
  return surface;
}

std::vector<std::pair<std::string, Table>> parse_groups(const std::string& text, const std::string& path) {
  const nlohmann::ordered_json json = parse_ordered_json_or_discard(text);
  const std::string help = "graphrun evaluate MODEL --details --json writes it";
  if (!json.is_object() || !json.contains("details")) bad_figure(path, "no object with details of reports", help);
  std::vector<std::pair<std::string, Table>> groups;
  try {
    for (const auto& [name, tables] : json["details"].items()) {
      for (const auto& of : tables) {
        Table table{of.at("title").get<std::string>(), of.at("columns").get<std::vector<std::string>>(), {}};
        if (!table.title.starts_with("by ")) continue;
        for (const auto& [group, values] : of.at("rows").items()) {
          std::vector<double> row;
          for (const auto& value : values) row.push_back(number_of(value));
          if (row.size() != table.columns.size()) bad_figure(path, "a row has more or fewer columns than its table", help);
          table.rows.emplace_back(group, std::move(row));
        }
        if (!table.rows.empty()) groups.emplace_back(name, std::move(table));
      }
    }
  } catch (const nlohmann::json::exception&) {
    bad_figure(path, "its details are not tables", help);
  }
  if (groups.empty()) bad_figure(path, "no report has groups", "report: \"gate = mean(encode.forward.i) by position\", say");
  return groups;
}

namespace {

const char* const kWeightsHelp =
    "graphrun infer --json --fetch NAME writes such objects, and graphrun run graphs/analysis/atr_attention.pbtxt; --words "
    "gives "
    "words";

// The words of an object for `count` rows of weights: its words, the units of a line that was read, or the tokens of what was
// written. The last row may be that of a sentence's end, which is no word. If none fits, the first list that there is.
std::vector<std::string> words_of(const nlohmann::json& object, std::size_t count) {
  std::vector<std::string> first;
  for (const char* const key : {"words", "units", "tokens"}) {
    if (!object.contains(key)) continue;
    auto words = object.at(key).get<std::vector<std::string>>();
    if (words.size() == count || words.size() + 1 == count) return words;
    if (first.empty()) first = std::move(words);
  }
  return first;
}

WordWeights word_weights_of(const nlohmann::json& object, const std::string& path, const std::string& key) {
  WordWeights found;
  try {
    for (const nlohmann::json& row : object.at(key)) {
      found.weights.emplace_back();
      for (const nlohmann::json& entry : row) {
        const bool of_batch = entry.is_array() && entry.size() == 1;  // a batch of one sentence, [word, other, 1]
        found.weights.back().push_back((of_batch ? entry[0] : entry).get<double>());
      }
    }
    found.words = words_of(object, found.weights.size());
  } catch (const nlohmann::json::exception&) {
    bad_figure(path, fmt::format("'{}' is not a matrix of numbers", key), kWeightsHelp);
  }
  for (const auto& row : found.weights) {
    if (row.size() != found.weights.size()) bad_figure(path, fmt::format("'{}' is not square", key), kWeightsHelp);
  }
  if (found.weights.empty()) bad_figure(path, fmt::format("'{}' is empty", key), kWeightsHelp);
  if (found.words.size() + 1 != found.weights.size()) return found;
  found.weights.resize(found.words.size());
  for (auto& row : found.weights) row.resize(found.words.size());
  return found;
}

}  // namespace

std::vector<WordWeights> parse_word_weights(const std::string& text, const std::string& path, const std::string& key) {
  std::vector<nlohmann::json> objects = {parse_json_or_discard(text)};
  if (objects[0].is_discarded()) {
    objects.clear();
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) objects.push_back(parse_json_or_discard(line));
  }
  std::vector<WordWeights> found;
  for (const nlohmann::json& object : objects) {
    if (!object.is_object() || !object.contains(key)) bad_figure(path, fmt::format("no object with '{}'", key), kWeightsHelp);
    found.push_back(word_weights_of(object, path, key));
  }
  if (found.empty()) bad_figure(path, "there is nothing in it", kWeightsHelp);
  return found;
}

}  // namespace graphrun
