// What a folder says of its files: {"format": "…", "version": 1, "files": {"NAME": {"bytes": 1, "sha256": "…"}}}. It may come
// from strangers: every value has its type, every name stays in the folder, and every file is a regular one that lies there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/file.h"

namespace graphrun {

inline constexpr std::uint64_t kLargestManifest = std::uint64_t{16} << 20;  // bytes
using ListedFiles = std::map<std::string, FileDigest>;                      // by name, '/' between its folders

// Throws what is wrong, in the words of whoever reads: "its manifest is no JSON: …".
using RefuseManifest = std::function<void(const std::string& why)>;

// `kind`: "checkpoint" where `format` is "graphrun checkpoint". The version is a number from 1, and may be a newer one.
nlohmann::json parse_manifest(const std::string& text, const std::string& format, const std::string& kind,
                              const RefuseManifest& refuse);
std::uint64_t version_of(const nlohmann::json& manifest);
// `plain`: which names there may be, beside those that lead out of the folder.
ListedFiles files_of(const nlohmann::json& manifest, const std::function<bool(const std::string&)>& plain,
                     const RefuseManifest& refuse);

// Refuses what is not there, a link anywhere on the way from the folder, and what is no regular file.
void check_regular(const std::string& folder, const std::string& name, const RefuseManifest& refuse);

}  // namespace graphrun
