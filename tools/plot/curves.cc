#include "tools/plot/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "tools/json/json.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestMetrics = std::uint64_t{1} << 30;  // bytes
const std::string kEpochLoss = "loss of epochs";

std::string title_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

class CurveReader {
 public:
  void add(const nlohmann::ordered_json& line) {
    const double step = line.at("step").get<double>();
    const bool epoch = !line.contains("gradient_norm");  // a line about a whole epoch
    for (const auto& [key, value] : line.items()) {
      if (key == "step" || key == "epoch") continue;
      if (key == "watch") {
        add_watched(step, value);
      } else if (value.is_object()) {
        for (const auto& [name, figure] : value.items()) point(title_of(key) + " " + name, step, figure);
      } else if (key == "loss") {
        point(epoch ? kEpochLoss : "loss", step, value);
      } else if (!epoch) {
        point(title_of(key), step, value);
      }
    }
  }
  // By name. The gradient of a state has a norm for each time step: the first and the last show whether it vanishes.
  void add_watched(double step, const nlohmann::ordered_json& watched) {
    struct Figure {
      const char *kind, *key, *title;
    };
    constexpr Figure kFigures[] = {
        {"parameters", "gradient", "gradient norm of "}, {"parameters", "weight", "norm of "},
        {"parameters", "update", "relative update of "}, {"gates", "mean", "mean of "},
        {"gates", "low", "share at the low limit of "},  {"gates", "high", "share at the high limit of "},
        {"states", "gradient", "gradient norm of "}};
    const auto add = [&](const std::string& curve, const nlohmann::ordered_json& value) {
      run_.watched.insert(curve);
      point(curve, step, value);
    };
    for (const auto& [kind, values] : watched.items()) {
      for (const auto& [name, of] : values.items()) {
        for (const Figure& figure : kFigures) {
          if (kind != figure.kind || !of.contains(figure.key)) continue;
          const nlohmann::ordered_json& value = of[figure.key];
          if (!value.is_array()) {
            add(figure.title + name, value);
          } else if (!value.empty()) {
            add(figure.title + name + ", first step", value.front());
            add(figure.title + name + ", last step", value.back());
          }
        }
      }
    }
  }
  RunCurves finish() {
    // Losses of whole epochs are the curve of a run that recorded no others.
    if (const auto epochs = run_.curves.extract(kEpochLoss); run_.curves.count("loss") == 0 && !epochs.empty()) {
      run_.order.insert(run_.order.begin(), "loss");
      run_.curves["loss"] = epochs.mapped();
    }
    std::erase(run_.order, kEpochLoss);
    return std::move(run_);
  }

 private:
  void point(const std::string& curve, double step, const nlohmann::ordered_json& value) {
    if (!value.is_number()) return;  // null if it is not finite
    if (run_.curves.count(curve) == 0) run_.order.push_back(curve);
    run_.curves[curve].emplace_back(step, value.get<double>());
  }
  RunCurves run_;
};

// Also of '.' and 'model/'.
std::string name_of_folder(const std::string& folder) {
  const std::filesystem::path whole =
      std::filesystem::absolute(std::filesystem::path(folder).lexically_normal()).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

}  // namespace

RunCurves parse_metrics(const std::string& text, const std::string& path) {
  CurveReader reader;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto json = parse_ordered_json_or_discard(line);
    if (json.is_discarded() && lines.eof()) break;  // a run in progress has not written the whole line yet
    if (!json.is_object() || (json.contains("step") && !json["step"].is_number())) {
      Diagnostic d{
          Severity::kError, "E0690 bad-metrics", {}, "the line is not a line of a run's metrics: expected a JSON object", {}};
      d.at = {intern_file(path), number, 1};
      throw UserError(ExitCode::kBadData, {std::move(d)});
    }
    if (json.contains("step")) reader.add(json);
  }
  return reader.finish();
}

std::vector<std::string> runs_in(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto has_metrics = [&](const fs::path& path) { return fs::exists(path / "metrics.jsonl", error); };
  if (has_metrics(folder)) return {folder};
  std::vector<std::string> runs;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (has_metrics(entry.path())) runs.push_back(entry.path().string());
  }
  if (runs.empty()) {
    const bool there = fs::is_directory(folder, error);
    throw UserError(ExitCode::kBadData, "E0690 bad-metrics",
                    there ? "'" + folder + "' holds no run: neither it nor a folder in it has a metrics.jsonl"
                    : fs::exists(folder, error) ? "'" + folder + "' is a file; expected the folder of a run"
                                                : "there is no folder '" + folder + "'",
                    {"help: graphrun train JOB --out DIR makes one"});
  }
  std::sort(runs.begin(), runs.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);  // seed-2 before seed-10
  });
  return runs;
}

RunCurves read_speed(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "speed.jsonl").string();
  RunCurves run;
  if (!is_there(path)) return run;
  const auto point = [&](const char* curve, double step, double value) {
    if (run.curves.count(curve) == 0) run.order.emplace_back(curve);
    run.curves[curve].emplace_back(step, value);
  };
  std::istringstream lines(read_file(path, kLargestMetrics));
  for (std::string line; std::getline(lines, line);) {
    const auto json = parse_ordered_json_or_discard(line);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number()) continue;
    const double step = json["step"].get<double>();
    if (json.contains("train"))
      point("tokens per second", step, number_of(json["train"].value("tokens_per_second", nlohmann::ordered_json())));
    if (json.contains("peak_memory")) point("peak memory, MiB", step, number_of(json["peak_memory"]) / (1 << 20));
  }
  return run;
}

std::vector<std::string> names_of_runs(const std::vector<std::string>& folders) {
  std::map<std::string, int> times;
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    names.push_back(name_of_folder(folder));
    ++times[names.back()];
  }
  for (std::size_t r = 0; r < names.size(); ++r) {
    if (times[names[r]] > 1) names[r] = folders[r];
  }
  return names;
}

RunCurves read_run(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  const std::string metrics = (path / "metrics.jsonl").string();
  RunCurves run = parse_metrics(read_file(metrics, kLargestMetrics), metrics);
  run.name = name_of_folder(folder);
  return run;
}

}  // namespace graphrun
