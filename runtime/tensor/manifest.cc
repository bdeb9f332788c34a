#include "runtime/tensor/manifest.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

constexpr int kDeepestManifest = 3;  // {"files": {"a": {"bytes": 1}}}
constexpr std::size_t kMostListedFiles = 10000;

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool stays_inside(const std::string& name) {
  const std::vector<std::string> parts = parts_of(name);
  const auto leaves = [](const std::string& part) {
    return part.empty() || part == "." || part == ".." || part.find('\0') != std::string::npos;
  };
  return std::none_of(parts.begin(), parts.end(), leaves);
}

// A refuse function that returns is a bug in graphrun.
[[noreturn]] void refused(const RefuseManifest& refuse, const std::string& why) {
  refuse(why);
  throw InternalError("a manifest was refused and read on: " + why);
}

}  // namespace

nlohmann::json parse_manifest(const std::string& text, const std::string& format, const std::string& kind,
                              const RefuseManifest& refuse) {
  using Json = nlohmann::json;
  const auto check = [&](int depth, Json::parse_event_t event, Json&) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= kDeepestManifest) refused(refuse, "its manifest is nested too deep");
    return true;
  };
  Json manifest;
  try {
    manifest = Json::parse(text, check);
  } catch (const Json::exception& error) {
    refused(refuse, std::string("its manifest is not JSON: ") + error.what());
  }
  if (!manifest.is_object() || !manifest.contains("format") || manifest["format"] != format || !manifest.contains("version") ||
      !manifest["version"].is_number_unsigned() || manifest["version"].get<std::uint64_t>() == 0) {
    refused(refuse, "its manifest.json is no " + kind + "'s");
  }
  return manifest;
}

std::uint64_t version_of(const nlohmann::json& manifest) { return manifest.at("version").get<std::uint64_t>(); }

ListedFiles files_of(const nlohmann::json& manifest, const std::function<bool(const std::string&)>& plain,
                     const RefuseManifest& refuse) {
  if (!manifest.contains("files") || !manifest["files"].is_object() || manifest["files"].size() > kMostListedFiles)
    refused(refuse, "its manifest lists no files, or too many");
  ListedFiles files;
  for (const auto& [name, value] : manifest["files"].items()) {
    if (!stays_inside(name) || !plain(name)) refused(refuse, "its manifest lists a file without a plain name");
    const bool sound = value.is_object() && value.contains("bytes") && value["bytes"].is_number_unsigned() &&
                       value.contains("sha256") && value["sha256"].is_string();
    if (!sound) refused(refuse, "its manifest gives no size and hash of '" + name + "'");
    files[name] = {value["bytes"].get<std::uint64_t>(), value["sha256"].get<std::string>()};
  }
  return files;
}

void check_regular(const std::string& folder, const std::string& name, const RefuseManifest& refuse) {
  std::string path = folder;
  struct stat info {};
  for (const std::string& part : parts_of(name)) {
    path += "/" + part;
    if (lstat(path.c_str(), &info) != 0) {
      const int error = errno;
      if (error != ENOENT && error != ENOTDIR) unreadable_file(path, error);
      refused(refuse, "'" + name + "' is missing: " + std::system_category().message(error));
    }
    if (S_ISLNK(info.st_mode))
      refused(refuse, "'" + path.substr(folder.size() + 1) + "' is a link; what is read lies in the folder itself");
  }
  if (!S_ISREG(info.st_mode)) refused(refuse, "'" + name + "' is no regular file");
}

}  // namespace graphrun
