#include "tests/mutants/manifests.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/base/file.h"
#include "tests/mutants/bytes.h"

namespace graphrun::mutants {
namespace {

using Json = nlohmann::json;

const std::string kMark = "@", kOfManifest = "@manifest@", kManifestName = "manifest.json";

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

std::vector<std::string> manifests_of(const Files& files) {
  std::vector<std::string> paths;
  for (const auto& [path, bytes] : files)
    if (path.ends_with("/" + kManifestName)) paths.push_back(path);
  return paths;
}

std::string marked(const std::string& text) {
  Json json = Json::parse(text);
  for (Json& file : json.at("files")) file = {{"bytes", kMark}, {"sha256", kMark}};
  if (json.contains("sha256")) json["sha256"] = kMark;
  return json.dump(2) + "\n";
}

// `path`: the manifest's.
void put_hashes(Files& files, const std::string& path) {
  Json json = Json::parse(files.at(path), nullptr, false);
  if (!json.is_object()) return;
  const std::string folder = path.substr(0, path.size() - kManifestName.size());
  if (json.contains("files") && json["files"].is_object()) {
    for (auto& [name, file] : json["files"].items()) {
      const auto found = files.find(folder + name);
      if (!file.is_object() || found == files.end()) continue;
      if (file.contains("bytes") && file["bytes"] == kMark) file["bytes"] = found->second.size();
      if (file.contains("sha256") && file["sha256"] == kMark) file["sha256"] = sha256(found->second);
    }
  }
  if (json.contains("sha256") && json["sha256"] == kMark) {
    json.erase("sha256");
    json["sha256"] = sha256(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  files[path] = text_of_json(json);
}

}  // namespace

Files with_marks(Files files) {
  const auto own = files.find(kManifestName);
  if (own != files.end()) {
    const std::string hash = sha256(own->second);
    own->second = marked(own->second);
    for (auto& [path, bytes] : files)
      if (path.ends_with("/state.json")) replace_all(bytes, hash, kOfManifest);
  }
  for (const std::string& path : manifests_of(files)) files[path] = marked(files[path]);
  return files;
}

Files with_hashes(Files files) {
  const auto own = files.find(kManifestName);
  if (own != files.end()) {
    put_hashes(files, kManifestName);
    const std::string hash = sha256(own->second);
    for (auto& [path, bytes] : files)
      if (path.ends_with("/state.json")) replace_all(bytes, kOfManifest, hash);
  }
  for (const std::string& path : manifests_of(files)) put_hashes(files, path);
  return files;
}

}  // namespace graphrun::mutants
