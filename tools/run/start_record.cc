#include "tools/run/start_record.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

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

void record_start(const ModelLayout& layout, const std::vector<std::string>& command, std::int64_t step, bool on_cpu) {
  const std::string path = layout.starts();
  std::string text = is_there(path) ? read_file(path, kLargestRecord) : "";
  text.resize(text.rfind('\n') + 1);  // 0 if there is no line
  const Build& build = this_build();
  const nlohmann::ordered_json line = {{"time", time_text()},
                                       {"command", command},
                                       {"folder", working_folder()},
                                       {"step", step},
                                       {"version", build.version},
                                       {"compiler", build.compiler},
                                       {"flags", build.flags},
                                       {"program", build.program_id},
                                       {"library", build.library_id},
                                       {"threads", threads()},
                                       {"device", on_cpu ? "cpu" : "cuda"},
                                       {"processor", processor()},
                                       {"machine", machine_name()},
                                       {"process", getpid()}};
  write_file(path, text + json_text_of_bytes(line) + "\n");
}

bool began_on_cpu(const std::string& folder) {
  const std::string path = ModelLayout{folder}.starts();
  if (!is_there(path)) return false;
  const std::string text = read_file(path, kLargestRecord), first = text.substr(0, text.find('\n'));
  const nlohmann::json line = nlohmann::json::parse(first, nullptr, false);
  return !line.is_object() || !line.contains("device") || line["device"] != "cuda";
}

}  // namespace graphrun
