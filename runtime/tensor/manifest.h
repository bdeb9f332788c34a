// The list of a folder's files: {"format": "…", "version": 1, "files": {"NAME": {"bytes": 1, "sha256": "…"}}}. It may come
// from an untrusted source: values are checked for their types, names must stay inside the folder, and each file must be
// regular.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/base/file.h"

namespace graphrun {

inline constexpr std::uint64_t kLargestManifest = std::uint64_t{16} << 20;  // bytes
using ListedFiles = std::map<std::string, FileDigest>;                      // by name; '/' separates folders

// Throws the reader's own error with the reason: "its manifest is not JSON: …". Must not return.
using RefuseManifest = std::function<void(const std::string& why)>;

// `kind`: "checkpoint" if `format` is "graphrun checkpoint". The version is a number from 1, and may be newer than this
// program's.
nlohmann::json parse_manifest(const std::string& text, const std::string& format, const std::string& kind,
                              const RefuseManifest& refuse);
std::uint64_t version_of(const nlohmann::json& manifest);
// `plain`: which names are allowed. Names that lead out of the folder are never allowed.
ListedFiles files_of(const nlohmann::json& manifest, const std::function<bool(const std::string&)>& plain,
                     const RefuseManifest& refuse);

// Refuses a missing file, a link anywhere on the path from the folder, and anything but a regular file.
void check_regular(const std::string& folder, const std::string& name, const RefuseManifest& refuse);

}  // namespace graphrun
