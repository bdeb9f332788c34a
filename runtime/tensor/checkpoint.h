// Checkpoints: folders that are complete or are none. One holds groups of tensors (GROUP.safetensors), texts beside them, and
// manifest.json with every file's size and SHA-256 and its own. It is written under another name and renamed when all of it is
// on disk, so a process killed at any instant leaves the checkpoints that were there.
//
// A run folder has them by step: RUN/checkpoints/step-000123, RUN/best/step-000100.
//
// Errors are UserErrors: file.h's and safetensors.h's; E0685 bad-checkpoint, E0686 newer-checkpoint (kBadData).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor/safetensors.h"

namespace graphrun {

inline constexpr int kCheckpointVersion = 2;  // 1: without a hash of the manifest itself

struct Checkpoint {
  std::map<std::string, NamedTensors> groups;  // "parameters", "slots", …
  std::map<std::string, std::string> texts;    // by file name: "job.pbtxt", "words.vocabulary", …
};

// Makes `folder`, and those above it; one that is there already is replaced in one instant. Names of groups and texts are plain
// file names: letters, digits, and after the first also ". _ -"; others are an InternalError. Where it fails, nothing of it is
// left and what was there stays.
void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint);

// Reads a checkpoint part by part. A checkpoint may come from strangers: the manifest's names cannot leave the folder, and a
// part whose size or hash differs is refused.
class CheckpointReader {
 public:
  // Reads the manifest and checks that every file is there with its size.
  explicit CheckpointReader(std::string folder);

  const std::string& folder() const { return folder_; }
  bool has_group(const std::string& group) const { return files_.count(group + ".safetensors") != 0; }
  bool has_text(const std::string& name) const { return !is_group_file(name) && files_.count(name) != 0; }
  std::vector<std::string> groups() const;
  std::vector<std::string> texts() const;

  // Each checks the file's hash and throws E0685 where there is none of that name.
  NamedTensors group(const std::string& group) const;
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

Checkpoint load_checkpoint(const std::string& folder);  // all of it

// Where the checkpoint of a step stands. `kind`: "checkpoints" or "best".
std::string checkpoint_folder(const std::string& run_folder, std::int64_t step, const std::string& kind = "checkpoints");

// The complete checkpoint of the highest step; nothing where there is none. Leftovers of a killed process are passed over. One
// of a newer version counts, so that loading it says so instead of going back to an older one.
std::optional<std::string> newest_complete(const std::string& run_folder, const std::string& kind = "checkpoints");

// The same with a look at every hash, telling what is wrong with those that are newer. `damaged`: a sentence for each that has
// a manifest and is not what was written, newest first; where none is found, for every folder of a step.
struct NewestCheckpoint {
  std::optional<std::string> folder;
  std::vector<std::string> damaged;
};
NewestCheckpoint newest_sound(const std::string& run_folder, const std::string& kind = "checkpoints");

// All complete checkpoints of a kind, oldest first.
std::vector<std::string> complete_checkpoints(const std::string& run_folder, const std::string& kind);

// Removes a checkpoint. What a process killed in between leaves is none.
void remove_checkpoint(const std::string& folder);

// Removes leftovers of a killed process, and all complete checkpoints but the newest `keep` (at least 1). Only for the process
// that writes the run.
void prune_checkpoints(const std::string& run_folder, int keep, const std::string& kind = "checkpoints");

}  // namespace graphrun
