// The folder of a training run, locked against other runs during the lifetime of this object.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/model/layout.h"
#include "tools/run/folder_lock.h"

namespace graphrun {

// Whether the folder contains files of a run, even of one that ended early.
bool holds_run(const std::string& folder);
// The folder of a seed's run within a folder of several.
std::string seed_folder(const std::string& folder, std::uint64_t seed);
// The seeds whose runs are in the folder, in ascending order.
std::vector<std::uint64_t> seeds_in(const std::string& folder);

// Throws UserError (kUsage, E0520) if the folder contains a run, or runs of several seeds. `resumes`: the command has --resume.
void require_no_run(const std::string& path, bool resumes);

class RunFolder {
 public:
  enum class Begin {
    kNew,     // must not contain a run; is created if needed
    kResume,  // must contain a run
    kEither,  // kResume if it contains a run, else kNew
    kMade,    // like kNew, for a command without --resume
    kShared,  // another process of this run writes it: this one does not check, create, lock or write anything
  };
  // Throws UserError: (kUsage) E0520 run-exists, E0521 no-run; (kRunFailed) E0522 run-busy, another process holds it; those of
  // runtime/base/file.h.
  RunFolder(const std::string& path, Begin begin);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // With the path that the folder was opened with or, after inside() has found it moved, a path that still leads to it.
  const ModelLayout& layout() const { return layout_; }

  // Whether this process writes the folder.
  bool is_ours() const { return lock_.held(); }
  // If the folder is ours, calls `act`, which reads or writes the folder's files through layout(). If the folder was moved
  // meanwhile, its old path may lead nowhere or to another run, so `act` is called again with the new place. Throws what `act`
  // throws, and UserError: (kNoRoom) E0526 removed-folder; (kRunFailed) E0522 if another process has taken the folder.
  void inside(const std::function<void()>& act);
  bool has_moved() const { return layout_.root != name_; }
  // The error that ends a run whose folder was moved: (kNoRoom) E0525 moved-folder. `step`: that of the checkpoint saved in it.
  UserError moved(std::int64_t step) const;

 private:
  void find();

  const std::string name_;
  ModelLayout layout_;
  FolderLock lock_;
  int folder_ = -1;
};

}  // namespace graphrun
