#include "runtime/tensor/checkpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/tensor/manifest.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kManifest = "manifest.json";
constexpr const char* kFormat = "graphrun checkpoint";
constexpr const char* kOwnHash = "sha256";
constexpr const char* kGroupSuffix = ".safetensors";
constexpr const char* kPartial = ".partial";    // being written
constexpr const char* kReplaced = ".replaced";  // moved aside for a new one of the same name
constexpr std::uint64_t kLargestText = std::uint64_t{1} << 30;
constexpr std::size_t kLongestFileName = 200;

bool is_plain(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  const auto allowed = [&](char c) { return letter(c) || c == '.' || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= kLongestFileName && letter(name[0]) && std::all_of(name.begin(), name.end(), allowed);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

[[noreturn]] void bad_checkpoint(const std::string& folder, const std::string& what) {
  throw UserError(ExitCode::kBadData, "E0685 bad-checkpoint", "'" + folder + "' is not an intact checkpoint: " + what);
}

// The hash of the manifest without its own hash field.
std::string hash_of(Json manifest) {
  manifest.erase(kOwnHash);
  return sha256(manifest.dump());
}

std::string manifest_text(const std::map<std::string, FileDigest>& files) {
  Json listed = Json::object();
  for (const auto& [name, digest] : files) listed[name] = {{"bytes", digest.bytes}, {"sha256", digest.sha256}};
  Json manifest = {{"format", kFormat}, {"version", kCheckpointVersion}, {"files", listed}};
  manifest[kOwnHash] = hash_of(manifest);
  return manifest.dump(2) + "\n";
}

ListedFiles read_manifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifest;
  const RefuseManifest refuse = [&](const std::string& why) { bad_checkpoint(folder, why); };
  if (!is_there(folder)) bad_checkpoint(folder, "there is no such folder");
  if (!is_there(path)) bad_checkpoint(folder, "it has no manifest.json: it is something else, or was never finished");
  check_regular(folder, kManifest, refuse);
  const std::string text = read_file(path, kLargestManifest);
  const Json manifest = parse_manifest(text, kFormat, "checkpoint", refuse);
  const std::uint64_t version = version_of(manifest);
  const bool hashed = manifest.contains(kOwnHash), known = version <= kCheckpointVersion;
  const bool as_written =
      hashed ? manifest[kOwnHash] == hash_of(manifest) && (!known || text == manifest.dump(2) + "\n") : version == 1 || !known;
  if (!as_written) {
    bad_checkpoint(folder, "its manifest.json is damaged: its hash is not what was written");
  }
  if (!known) {
    throw UserError(ExitCode::kBadData, "E0686 newer-checkpoint",
                    "'" + folder + "' has version " + std::to_string(version) + "; this program reads up to version " +
                        std::to_string(kCheckpointVersion),
                    {"help: use the version of graphrun that wrote it, or a newer one"});
  }
  return files_of(
      manifest, [](const std::string& name) { return is_plain(name) && name != kManifest; }, refuse);
}

std::string without_slashes(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

[[noreturn]] void cannot_replace(const std::string& folder, int error) {
  unwritable_file(folder, "rename a checkpoint to", error);
}

// Moves the folder `partial` to the name of `folder`, which may exist.
void put_in_place(const std::string& partial, const std::string& folder) {
  std::error_code error;
  const fs::file_type there = fs::symlink_status(folder, error).type();
  if (there == fs::file_type::none) cannot_replace(folder, error.value());
  if (there == fs::file_type::not_found) {
    if (rename(partial.c_str(), folder.c_str()) != 0) cannot_replace(folder, errno);
  } else if (renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    remove_folder(partial);  // it now holds the old one
  } else {
    // For file systems that cannot exchange names. Between the two renames only the replaced folder exists; pruning restores
    // it.
    const std::string replaced = folder + kReplaced;
    remove_folder(replaced);
    if (rename(folder.c_str(), replaced.c_str()) != 0 || rename(partial.c_str(), folder.c_str()) != 0)
      cannot_replace(folder, errno);
    remove_folder(replaced);
  }
  sync_folder(parent_folder(folder));
}

// The step in an entry's name; nothing if the name is not an entry's.
std::optional<std::int64_t> step_of(std::string_view name) {
  constexpr std::string_view kStem = "step-";
  if (name.substr(0, kStem.size()) != kStem) return std::nullopt;
  name.remove_prefix(kStem.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || name.front() == '-') return std::nullopt;
  return step;
}

bool has_manifest(const std::string& folder) { return is_there(folder + "/" + kManifest); }

// Throws UserError if that cannot be determined: a checkpoint that is unreadable now may still be complete.
bool is_complete(const std::string& folder) {
  try {
    const CheckpointReader reader(folder);
    return true;
  } catch (const UserError& error) {
    const std::string& code = error.diagnostics().front().code;
    if (code == "E0686 newer-checkpoint") return true;
    if (code == "E0685 bad-checkpoint" || code == "E0504 file-too-large") return false;
    throw;
  }
}

// The same, to decide what may be removed: an unreadable checkpoint stays.
std::optional<bool> known_complete(const std::string& folder) {
  try {
    return is_complete(folder);
  } catch (const UserError& error) {
    if (error.exit_code() == ExitCode::kNoRoom) throw;
    return std::nullopt;
  }
}

struct StepFolder {
  std::int64_t step;
  std::string folder;
};

// Entries with a step, newest first; the names that a killed process left go to `leftover`.
std::vector<StepFolder> entries_of(const std::string& parent, std::vector<std::string>* leftovers) {
  std::vector<StepFolder> entries;
  if (!is_there(parent)) return entries;
  // Treating an unreadable folder as empty would start the run over.
  for (const std::string& name : names_in(parent)) {
    if (const auto step = step_of(name)) entries.push_back({*step, parent + "/" + name});
    for (const std::string_view suffix : {kPartial, kReplaced}) {
      const bool left = ends_with(name, suffix) && step_of(std::string_view(name).substr(0, name.size() - suffix.size()));
      if (left && leftovers != nullptr) leftovers->push_back(name);
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const StepFolder& a, const StepFolder& b) { return a.step != b.step ? a.step > b.step : a.folder > b.folder; });
  return entries;
}

}  // namespace

void save_checkpoint(const std::string& folder_name, const Checkpoint& checkpoint) {
  const std::string folder = without_slashes(folder_name), partial = folder + kPartial;
  remove_folder(partial);
  make_folders(partial);
  try {
    std::map<std::string, FileDigest> files;
    const auto add = [&](const std::string& group, const auto& write) {
      const std::string name = group + kGroupSuffix;
      GRAPHRUN_CHECK(is_plain(name), "save_checkpoint: group name '" + group + "'");
      files[name] = write(partial + "/" + name);
    };
    for (const auto& [group, tensors] : checkpoint.groups) {
      add(group, [&tensors = tensors](const std::string& path) { return write_safetensors(path, tensors); });
    }
    for (const auto& [group, tensors] : checkpoint.sources) {
      add(group, [&tensors = tensors](const std::string& path) { return write_safetensors_of(path, tensors); });
    }
    for (const auto& [name, text] : checkpoint.texts) {
      GRAPHRUN_CHECK(is_plain(name) && !ends_with(name, kGroupSuffix) && name != kManifest && text.size() <= kLargestText,
                     "save_checkpoint: text name '" + name + "'");
      files[name] = write_file(partial + "/" + name, text);
    }
    write_file(partial + "/" + kManifest, manifest_text(files));
    put_in_place(partial, folder);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw;
  }
}

bool CheckpointReader::is_group_file(const std::string& name) { return ends_with(name, kGroupSuffix); }

void CheckpointReader::bad(const std::string& what) const { bad_checkpoint(folder_, what); }

CheckpointReader::CheckpointReader(std::string folder)
    : folder_(without_slashes(std::move(folder))), files_(read_manifest(folder_)) {
  for (const auto& [name, digest] : files_) {
    check_regular(folder_, name, [&](const std::string& why) { bad(why); });
    const std::uint64_t size = InputFile(folder_ + "/" + name).size();
    if (size != digest.bytes) {
      bad("'" + name + "' has " + std::to_string(size) + " bytes; the manifest says " + std::to_string(digest.bytes));
    }
  }
}

std::vector<std::string> CheckpointReader::groups() const {
  std::vector<std::string> names;
  for (const auto& [name, digest] : files_) {
    if (is_group_file(name)) names.push_back(name.substr(0, name.size() - std::strlen(kGroupSuffix)));
  }
  return names;
}

std::vector<std::string> CheckpointReader::texts() const {
  std::vector<std::string> names;
  for (const auto& [name, digest] : files_) {
    if (!is_group_file(name)) names.push_back(name);
  }
  return names;
}

const FileDigest& CheckpointReader::digest(const std::string& name) const {
  const auto it = files_.find(name);
  if (it == files_.end()) bad("it has no '" + name + "'");
  return it->second;
}

NamedTensors CheckpointReader::group(const std::string& group) const {
  NamedTensors tensors;
  this->group(group, [&](const std::string& name, Tensor tensor) { tensors.emplace(name, std::move(tensor)); });
  return tensors;
}

void CheckpointReader::group(const std::string& group,
                             const std::function<void(const std::string& name, Tensor tensor)>& take) const {
  const std::string name = group + kGroupSuffix, path = folder_ + "/" + name;
  if (digest_file(path) != digest(name)) bad("'" + name + "' is damaged: its hash is not the manifest's");
  read_safetensors(path, take);
}

std::string CheckpointReader::text(const std::string& name) const {
  const FileDigest& expected = digest(name);
  std::string text = read_file(folder_ + "/" + name, kLargestText);
  if (FileDigest{text.size(), sha256(text)} != expected) bad("'" + name + "' is damaged: its hash is not the manifest's");
  return text;
}

void CheckpointReader::verify() const {
  for (const auto& [name, digest] : files_) {
    if (digest_file(folder_ + "/" + name) != digest) bad("'" + name + "' is damaged: its hash is not the manifest's");
  }
}

Checkpoint load_checkpoint(const std::string& folder) {
  const CheckpointReader reader(folder);
  Checkpoint checkpoint;
  for (const std::string& group : reader.groups()) checkpoint.groups[group] = reader.group(group);
  for (const std::string& name : reader.texts()) checkpoint.texts[name] = reader.text(name);
  return checkpoint;
}

std::string checkpoint_folder(const std::string& run_folder, std::int64_t step, const std::string& kind) {
  GRAPHRUN_CHECK(step >= 0, "checkpoint_folder: step " + std::to_string(step));
  std::string digits = std::to_string(step);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return run_folder + "/" + kind + "/step-" + digits;
}

std::optional<std::string> newest_complete(const std::string& run_folder, const std::string& kind) {
  for (const StepFolder& entry : entries_of(run_folder + "/" + kind, nullptr)) {
    if (is_complete(entry.folder)) return entry.folder;
  }
  return std::nullopt;
}

NewestCheckpoint newest_sound(const std::string& run_folder, const std::string& kind) {
  NewestCheckpoint found;
  std::vector<std::string> unfinished;  // what pruning leaves if the process is killed
  for (const StepFolder& entry : entries_of(run_folder + "/" + kind, nullptr)) {
    try {
      CheckpointReader(entry.folder).verify();
      found.folder = entry.folder;
      return found;
    } catch (const UserError& error) {
      if (error.exit_code() == ExitCode::kNoRoom) throw;  // says nothing about the checkpoint
      const Diagnostic& why = error.diagnostics().front();
      if (why.code.starts_with("E0686")) {
        found.folder = entry.folder;
        return found;
      }
      const std::string about = why.text.find(entry.folder) == std::string::npos ? "'" + entry.folder + "': " : "";
      const bool finished = why.code.starts_with("E0501") || has_manifest(entry.folder);
      (finished ? found.damaged : unfinished).push_back(about + why.text);
    }
  }
  found.damaged.insert(found.damaged.end(), unfinished.begin(), unfinished.end());
  return found;
}

// The manifest is removed first, so that what remains if the process is killed is not a checkpoint.
void remove_checkpoint(const std::string& folder) {
  const std::string manifest = folder + "/" + kManifest;
  std::error_code error;
  if (fs::remove(manifest, error)) sync_folder(folder);
  if (error) unwritable_file(manifest, "remove", error.value());
  remove_folder(folder);
}

std::vector<std::string> complete_checkpoints(const std::string& run_folder, const std::string& kind) {
  std::vector<std::string> folders;
  for (const StepFolder& entry : entries_of(run_folder + "/" + kind, nullptr)) {
    if (is_complete(entry.folder)) folders.push_back(entry.folder);
  }
  std::reverse(folders.begin(), folders.end());
  return folders;
}

void prune_checkpoints(const std::string& run_folder, int keep, const std::string& kind) {
  GRAPHRUN_CHECK(keep >= 1, "prune_checkpoints: keep " + std::to_string(keep));
  const std::string parent = run_folder + "/" + kind;
  std::vector<std::string> leftovers;
  entries_of(parent, &leftovers);
  for (const std::string& name : leftovers) {
    const std::string left = parent + "/" + name;
    const std::string folder = ends_with(name, kReplaced) ? left.substr(0, left.size() - std::strlen(kReplaced)) : "";
    const std::optional<bool> there = folder.empty() ? true : known_complete(folder), back = known_complete(left);
    if (there == false && back == true) {
      remove_folder(folder);
      put_in_place(left, folder);
    } else if (there && (*there || back)) {
      remove_checkpoint(left);
    }
  }
  // A checkpoint with a manifest that is damaged nevertheless is not a leftover: it stays, for its owner to inspect.
  int complete = 0;
  for (const StepFolder& entry : entries_of(parent, nullptr)) {
    const std::optional<bool> counts = known_complete(entry.folder);
    if (!counts) continue;
    complete += *counts;
    if (*counts ? complete > keep : !has_manifest(entry.folder)) remove_checkpoint(entry.folder);
  }
}

}  // namespace graphrun
