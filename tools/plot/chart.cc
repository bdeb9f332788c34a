#include "tools/plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/base/markup.h"

namespace graphrun {
namespace {

// Colors that color-blind people can distinguish (Okabe and Ito 2008); after the last one, lines are dashed.
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"};
constexpr std::size_t kColorCount = std::size(kColors);
constexpr int kPanelWidth = 440, kPanelHeight = 270, kColumns = 2;
constexpr int kLeft = 62, kRight = 14, kTop = 34, kBottom = 40;  // margins of a panel around its axes
constexpr int kLegendLine = 20, kEdge = 12;
constexpr std::size_t kMostMarkers = 60;  // marked points of a curve

std::string stroke_of(std::size_t run) {
  const std::string dashes = run < kColorCount ? "" : fmt::format(" stroke-dasharray=\"{} 3\"", 2 + 3 * (run / kColorCount));
  return fmt::format("stroke=\"{}\"{}", kColors[run % kColorCount], dashes);
}

// With enough decimals to distinguish adjacent ticks; thousands as k, millions as M.
std::string tick_text(double value, double step) {
  const double size = std::max(std::abs(value), step);
  if (value == 0) return "0";
  if (size < 1e-4) return fmt::format("{:.3g}", value);
  const auto with = [&](double unit, const char* suffix) {
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step / unit) - 1e-9)), 0, 6);
    return fmt::format("{:.{}f}{}", value / unit, decimals, suffix);
  };
  if (step >= 1e5) return with(1e6, "M");
  if (size >= 1e4) return with(1e3, "k");
  return with(1, "");
}

struct Range {
  double low = 0, high = 0;
  bool any = false;

  void add(double value) {
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
  // Adds a margin on both sides, also for a constant.
  Range widened(double share) const {
    const double width = high > low ? (high - low) * share : high != 0 ? std::abs(high) * 0.1 : 1;
    return {low - width, high + width, true};
  }
};

class Panel {
 public:
  Panel(const std::vector<RunCurves>& runs, std::string title, const Range& steps)
      : runs_(runs), title_(std::move(title)), x_(steps) {
    Range y;
    for (const RunCurves& run : runs)
      if (const auto curve = run.curves.find(title_); curve != run.curves.end())
        for (const auto& [step, value] : curve->second) y.add(value);
    y_ = y.widened(0.05);
    if (y.low >= 0 && y_.low < 0) y_.low = 0;
  }

  std::string draw(int left, int top) const {
    std::string svg = fmt::format("<g transform=\"translate({} {})\">\n", left, top);
    svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", kLeft, kTop - 12, escaped(title_));
    svg += axes();
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (const auto curve = runs_[i].curves.find(title_); curve != runs_[i].curves.end()) svg += draw_curve(curve->second, i);
    return svg + "</g>\n";
  }

 private:
  static constexpr int kRightEnd = kPanelWidth - kRight, kBottomEnd = kPanelHeight - kBottom;

  double at_x(double step) const { return kLeft + (step - x_.low) / (x_.high - x_.low) * (kRightEnd - kLeft); }
  double at_y(double value) const { return kBottomEnd - (value - y_.low) / (y_.high - y_.low) * (kBottomEnd - kTop); }

  std::string axes() const {
    std::string svg;
    const auto line = [&](const char* kind, double x1, double y1, double x2, double y2) {
      svg +=
          fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind, x1, y1, x2, y2);
    };
    const std::vector<double> rows = nice_ticks(y_.low, y_.high, 5), columns = nice_ticks(x_.low, x_.high, 6);
    const auto step_of = [](const std::vector<double>& ticks) { return ticks.size() > 1 ? ticks[1] - ticks[0] : 1; };
    for (const double tick : rows) {
      line("grid", kLeft, at_y(tick), kRightEnd, at_y(tick));
      svg += fmt::format("<text class=\"row\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kLeft - 6, at_y(tick) + 4,
                         tick_text(tick, step_of(rows)));
    }
    for (const double tick : columns) {
      line("axis", at_x(tick), kBottomEnd, at_x(tick), kBottomEnd + 4);
      svg += fmt::format("<text class=\"column\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", at_x(tick), kBottomEnd + 17,
                         tick_text(tick, step_of(columns)));
    }
    line("axis", kLeft, kTop, kLeft, kBottomEnd);
    line("axis", kLeft, kBottomEnd, kRightEnd, kBottomEnd);
    return svg +
           fmt::format("<text class=\"column\" x=\"{}\" y=\"{}\">step</text>\n", (kLeft + kRightEnd) / 2, kBottomEnd + 32);
  }

  std::string draw_curve(const Points& points, std::size_t run) const {
    std::string places, markers;
    for (const auto& [step, value] : points) {
      places += fmt::format("{}{:.1f},{:.1f}", places.empty() ? "" : " ", at_x(step), at_y(value));
      if (points.size() <= kMostMarkers)
        markers += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\" fill=\"{}\"/>\n", at_x(step), at_y(value),
                               kColors[run % kColorCount]);
    }
    return fmt::format("<polyline class=\"curve\" {} points=\"{}\"/>\n", stroke_of(run), places) + markers;
  }

  const std::vector<RunCurves>& runs_;
  std::string title_;
  Range x_, y_;
};

constexpr const char* kStyle =
    "text { font-family: sans-serif; font-size: 11px; fill: #333; }\n"
    ".title { font-size: 13px; font-weight: bold; }\n"
    ".row { text-anchor: end; }\n"
    ".column { text-anchor: middle; }\n"
    ".axis { stroke: #333; stroke-width: 1; }\n"
    ".grid { stroke: #ddd; stroke-width: 1; }\n"
    ".curve { fill: none; stroke-width: 1.6; stroke-linejoin: round; }\n";

std::string legend(const std::vector<RunCurves>& runs) {
  std::string svg;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int y = kEdge + kLegendLine * static_cast<int>(i) + kLegendLine / 2;
    svg += fmt::format("<line class=\"curve\" {} x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", stroke_of(i), kLeft, y,
                       kLeft + 28, y);
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kLeft + 36, y + 4, escaped(runs[i].name));
  }
  return svg;
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  if (!(high > low) || !std::isfinite(high - low)) return {low};
  const double raw = (high - low) / count, power = std::pow(10, std::floor(std::log10(raw)));
  const double share = raw / power;
  const double step = power * (share <= 1.0 ? 1 : share <= 2.0 ? 2 : share <= 5.0 ? 5 : 10);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string draw_runs(const std::vector<RunCurves>& runs) {
  std::vector<std::string> titles;
  Range steps;
  for (const RunCurves& run : runs)
    for (const std::string& curve : run.order) {
      if (std::find(titles.begin(), titles.end(), curve) == titles.end()) titles.push_back(curve);
      for (const auto& [step, value] : run.curves.at(curve)) steps.add(step);
    }
  steps.add(0);
  if (steps.high == steps.low) steps.high = steps.low + 1;
  const int head = kEdge + kLegendLine * static_cast<int>(runs.size());
  const int rows = (static_cast<int>(titles.size()) + kColumns - 1) / kColumns;
  const int width = kColumns * kPanelWidth, height = head + rows * kPanelHeight + kEdge;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<style>\n{2}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      width, height, kStyle);
  svg += legend(runs);
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const int place = static_cast<int>(i);
    svg += Panel(runs, titles[i], steps).draw(place % kColumns * kPanelWidth, head + place / kColumns * kPanelHeight);
  }
  return svg + "</svg>\n";
}

}  // namespace graphrun
