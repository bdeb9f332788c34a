#include "tools/run/speed_log.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/file.h"
#include "tools/json/json.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestSpeedLog = std::uint64_t{1} << 30;  // bytes

// Five digits; a clock is not more precise.
double rounded(double value) { return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr); }
double to_milliseconds(double seconds) { return std::strtod(fmt::format("{:.3f}", seconds).c_str(), nullptr); }

nlohmann::ordered_json work_json(const Work& work, bool updates) {
  nlohmann::ordered_json json = {{"seconds", rounded(work.seconds)}};
  if (updates) {
    json["updates"] = work.updates;
    json["updates_per_second"] = rounded(work.per_second(work.updates));
  }
  json["examples_per_second"] = rounded(work.per_second(work.examples));
  json["tokens_per_second"] = rounded(work.per_second(work.tokens));
  return json;
}

}  // namespace

void SpeedLog::write(const SpeedLine& line) {
  nlohmann::ordered_json json = {
      {"time", time_text()}, {"epoch", line.epoch}, {"step", line.step}, {"seconds", to_milliseconds(line.seconds)}};
  if (line.training.examples > 0) json["train"] = work_json(line.training, true);
  if (!line.set.empty()) json[line.set] = work_json(line.evaluation, false);
  json["peak_memory"] = peak_resident_bytes();
  file_.write(json_text(json));
}

double seconds_before(const std::string& path, std::int64_t step) {
  if (!is_there(path)) return 0;
  double seconds = 0;
  std::istringstream lines(read_file(path, kLargestSpeedLog));
  for (std::string text; std::getline(lines, text);) {
    const auto line = parse_json_or_discard(text);
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) continue;
    if (line["step"].get<std::int64_t>() <= step) seconds = std::max(0.0, number_of(line.value("seconds", nlohmann::json())));
  }
  return seconds;
}

// Only of this program; getrusage would include the program that started it.
std::int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  }
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss * 1024 : 0;
}

}  // namespace graphrun
