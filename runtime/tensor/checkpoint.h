// Checkpoints: folders that are either complete or not checkpoints at all. A checkpoint holds groups of tensors
// (GROUP.safetensors), text files, and manifest.json, which lists every file's size and SHA-256 and has a hash of its own. A
// checkpoint is written under another name and renamed once all of it is on disk, so a process killed at any instant leaves the
// existing checkpoints intact.
//
// A run folder names them by step: RUN/checkpoints/step-000123, RUN/best/step-000100.
//
// Errors are UserErrors: those of file.h and safetensors.h; E0685 bad-checkpoint, E0686 newer-checkpoint (kBadData).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/safetensors.h"

namespace graphrun {

inline constexpr int kCheckpointVersion = 2;  // 1: without a hash of the manifest itself

struct Checkpoint {
  std::map<std::string, NamedTensors> groups;         // "parameters", "slots", …
  std::map<std::string, std::string> texts;           // by file name: "job.pbtxt", "words.vocabulary", …
  std::map<std::string, TensorSources> sources = {};  // more groups, whose tensors exist only while they are written
};

// Makes `folder` and its parents; an existing checkpoint is replaced atomically. Names of groups and texts are plain file
// names: letters, digits, and after the first character also ". _ -"; others are an InternalError. On failure, nothing of the
// new checkpoint remains and the existing one stays.
void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint);

// Reads a checkpoint part by part. A checkpoint may come from an untrusted source: names in the manifest cannot lead out of the
// folder, and a part whose size or hash differs is refused.
class CheckpointReader {
 public:
  // Reads the manifest and checks that every file exists with the listed size.
  explicit CheckpointReader(std::string folder);

  const std::string& folder() const { return folder_; }
  bool has_group(const std::string& group) const { return files_.count(group + ".safetensors") != 0; }
  bool has_text(const std::string& name) const { return !is_group_file(name) && files_.count(name) != 0; }
  std::vector<std::string> groups() const;
  std::vector<std::string> texts() const;

  // Each checks the file's hash, and throws E0685 if there is no part of that name.
  NamedTensors group(const std::string& group) const;
  void group(const std::string& group, const std::function<void(const std::string& name, Tensor tensor)>& take) const;
  std::string text(const std::string& name) const;
  // Checks every file's hash. Throws E0685.
  void verify() const;

 private:
  static bool is_group_file(const std::string& name);
  const FileDigest& digest(const std::string& name) const;
  [[noreturn]] void bad(const std::string& what) const;

  std::string folder_;
  std::map<std::string, FileDigest> files_;
};

Checkpoint load_checkpoint(const std::string& folder);  // all parts

// The folder of a step's checkpoint. `kind`: "checkpoints" or "best".
std::string checkpoint_folder(const std::string& run_folder, std::int64_t step, const std::string& kind = "checkpoints");

// The complete checkpoint of the highest step; nothing if there is none. Leftovers of a killed process are skipped. A
// checkpoint of a newer version counts, so that loading reports it instead of falling back to an older one.
std::optional<std::string> newest_complete(const std::string& run_folder, const std::string& kind = "checkpoints");

// The same, but verifies every hash and reports what is wrong with the newer ones. `damaged`: one sentence for each that has a
// manifest but differs from what was written, newest first; if none is found, one for every folder of a step.
struct NewestCheckpoint {
  std::optional<std::string> folder;
  std::vector<std::string> damaged;
};
NewestCheckpoint newest_sound(const std::string& run_folder, const std::string& kind = "checkpoints");

// All complete checkpoints of a kind, oldest first.
std::vector<std::string> complete_checkpoints(const std::string& run_folder, const std::string& kind);

// Removes a checkpoint. If the process is killed midway, what remains is not a checkpoint.
void remove_checkpoint(const std::string& folder);

// Removes leftovers of a killed process, and all complete checkpoints except the newest `keep` (at least 1). Only the process
// that writes the run may call it.
void prune_checkpoints(const std::string& run_folder, int keep, const std::string& kind = "checkpoints");

}  // namespace graphrun
