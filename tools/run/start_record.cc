#include "tools/run/start_record.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/file.h"
#include "runtime/threads/threads.h"
#include "tools/cli/build.h"
#include "tools/json/json.h"
#include "tools/run/clock.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestRecord = std::uint64_t{1} << 26;  // bytes

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t value = line.find(": ");
    if (line.starts_with("model name") && value != std::string::npos) return line.substr(value + 2);
  }
  return "unknown";
}

std::string working_folder() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

}  // namespace

void record_start(const ModelLayout& layout, const std::vector<std::string>& command, std::int64_t step, bool on_cpu,
                  int processes) {
  const std::string path = layout.starts();
  std::string text = is_there(path) ? read_file(path, kLargestRecord) : "";
  text.resize(text.rfind('\n') + 1);  // 0 if there is no line
  const Build& build = this_build();
  const nlohmann::ordered_json line = {{"time", time_text()},         {"command", command},
                                       {"folder", working_folder()},  {"step", step},
                                       {"version", build.version},    {"compiler", build.compiler},
                                       {"flags", build.flags},        {"program", build.program_id},
                                       {"library", build.library_id}, {"processes", processes},
                                       {"threads", threads()},        {"device", on_cpu ? "cpu" : "cuda"},
                                       {"processor", processor()},    {"machine", machine_name()},
                                       {"process", getpid()}};
  write_file(path, text + json_text_of_bytes(line) + "\n");
}

std::vector<MadeUpdates> made_updates(const std::string& folder) {
  const std::string path = ModelLayout{folder}.starts();
  std::vector<MadeUpdates> all;
  if (!is_there(path)) return all;
  std::istringstream lines(read_file(path, kLargestRecord));
  const auto number = [](const nlohmann::json& line, const char* key, std::int64_t otherwise) {
    return line.contains(key) && line[key].is_number_integer() ? line[key].get<std::int64_t>() : otherwise;
  };
  for (std::string text; std::getline(lines, text);) {
    const nlohmann::json line = parse_json_or_discard(text);
    if (!line.is_object()) continue;
    const std::int64_t done = number(line, "step", 0);
    for (MadeUpdates& before : all) before.last = std::min(before.last, done);  // a kill may have lost some
    all.push_back({done + 1, std::numeric_limits<std::int64_t>::max(), number(line, "processes", 1)});
  }
  all.erase(std::remove_if(all.begin(), all.end(), [](const MadeUpdates& made) { return made.last < made.first; }), all.end());
  return all;
}

bool began_on_cpu(const std::string& folder) {
  const std::string path = ModelLayout{folder}.starts();
  if (!is_there(path)) return false;
  const std::string text = read_file(path, kLargestRecord), first = text.substr(0, text.find('\n'));
  const nlohmann::json line = nlohmann::json::parse(first, nullptr, false);
  return !line.is_object() || !line.contains("device") || line["device"] != "cuda";
}

}  // namespace graphrun
