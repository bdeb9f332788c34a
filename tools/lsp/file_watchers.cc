#include "tools/lsp/file_watchers.h"

#include <filesystem>
#include <string_view>

#include "tools/lsp/documents.h"

namespace graphrun::lsp {
namespace {

constexpr const char* kWatchedFiles = "workspace/didChangeWatchedFiles";
// The registrations.
constexpr const char* kOfProject = "project";
constexpr const char* kOfOthers = "others";

// A pattern that matches exactly this text.
std::string literal_pattern(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    const bool is_special = std::string_view("*?{}[]").find(c) != std::string_view::npos;
    pattern += is_special ? std::string{'[', c, ']'} : std::string(1, c);
  }
  return pattern;
}

}  // namespace

FileWatchers::Watched FileWatchers::file(const std::string& path) {
  const std::filesystem::path parts(path);
  return {parts.parent_path().string(), literal_pattern(parts.filename().string())};
}

void FileWatchers::read_capabilities(const Json& parameters) {
  const auto can = [&](const char* what) {
    const Json::json_pointer at(std::string("/capabilities/workspace/didChangeWatchedFiles/") + what);
    return parameters.contains(at) && parameters[at] == true;
  };
  can_watch_ = can("dynamicRegistration");
  can_be_relative_ = can("relativePatternSupport");
}

std::vector<Json> FileWatchers::watch(const std::set<Watched>& others) {
  std::vector<Json> requests;
  if (!can_watch_) return requests;
  const auto ask = [&](const char* method, const char* list, Json registration) {
    registration["method"] = kWatchedFiles;
    requests.push_back({{"jsonrpc", "2.0"},
                        {"id", "watch-" + std::to_string(++requests_)},
                        {"method", method},
                        {"params", {{list, Json::array({registration})}}}});
  };
  const auto ask_for = [&](const char* id, const Json& watchers) {
    ask("client/registerCapability", "registrations", {{"id", id}, {"registerOptions", {{"watchers", watchers}}}});
  };
  if (!watches_project_) ask_for(kOfProject, Json::array({{{"globPattern", graphs_below("").second}}}));
  watches_project_ = true;
  if (others == others_) return requests;
  // The list is spelled like this in the protocol.
  if (!others_.empty()) ask("client/unregisterCapability", "unregisterations", {{"id", kOfOthers}});
  others_ = others;
  Json watchers = Json::array();
  for (const auto& [folder, pattern] : others_) {
    // Clients without relative patterns compare one that begins with '/' with whole paths.
    watchers.push_back({{"globPattern", can_be_relative_ ? Json{{"baseUri", uri_of_path(folder)}, {"pattern", pattern}}
                                                         : Json(literal_pattern(folder) + "/" + pattern)}});
  }
  if (!others_.empty()) ask_for(kOfOthers, watchers);
  return requests;
}

}  // namespace graphrun::lsp
