// The folder that a training run writes, held against every other run for as long as this lives.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/model/layout.h"

namespace graphrun {

// Whether a run has left anything there, even one that ended early.
bool holds_run(const std::string& folder);
// Where the run of a seed stands in a folder of several.
std::string seed_folder(const std::string& folder, std::uint64_t seed);
// The seeds whose runs stand in the folder, in rising order.
std::vector<std::uint64_t> seeds_in(const std::string& folder);

// Throws UserError (kUsage, E0520) where a run, or those of several seeds, stand in the folder. `resumes`: the command that
// asks has --resume.
void require_no_run(const std::string& path, bool resumes);

class RunFolder {
 public:
  enum class Begin {
    kNew,     // nothing of a run may stand in it; it is made where it does not exist
    kResume,  // a run must stand in it
    kMade,    // as kNew, by a command that has no --resume
    kShared,  // another process of the same run holds it: nothing is checked, made, locked or written
  };
  // Throws UserError: (kUsage) E0520 run-exists, E0521 no-run; (kRunFailed) E0522 run-busy, another process holds it; those of
  // runtime/base/file.h.
  RunFolder(const std::string& path, Begin begin);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // By the name that the folder was opened by; once inside() has found it moved, by a path that leads to it all the same.
  const ModelLayout& layout() const { return layout_; }

  // Whether this process writes the folder.
  bool is_ours() const { return lock_ >= 0; }
  // Where the folder is ours: does what reads or writes the folder's files by layout(), and again where the folder was moved
  // meanwhile, to where it is then: its name may lead to nothing or to another run. Throws what `act` throws, and UserError:
  // (kNoRoom) E0526 removed-folder; (kRunFailed) E0522, another process has taken it.
  void inside(const std::function<void()>& act);
  bool has_moved() const { return layout_.root != name_; }
  // What ends a run whose folder was moved: (kNoRoom) E0525 moved-folder. `step`: of the checkpoint that was saved in it.
  UserError moved(std::int64_t step) const;

 private:
  void find();

  const std::string name_;
  ModelLayout layout_;
  int lock_ = -1, folder_ = -1;
};

}  // namespace graphrun
