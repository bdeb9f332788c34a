// The folder that a training run writes, held against every other run for as long as this lives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/model/layout.h"

namespace graphrun {

// Whether a run has left anything there, even one that ended early.
bool holds_run(const std::string& folder);
// Where the run of a seed stands in a folder of several.
std::string seed_folder(const std::string& folder, std::uint64_t seed);
// The seeds whose runs stand in the folder, in rising order.
std::vector<std::uint64_t> seeds_in(const std::string& folder);

class RunFolder {
 public:
  enum class Begin {
    kNew,     // nothing of a run may stand in it; it is made where it does not exist
    kResume,  // a run must stand in it
    kMade,    // as kNew, by a command that has no --resume
  };
  // Throws UserError: (kUsage) E0520 run-exists, E0521 no-run; (kRunFailed) E0522 run-busy, another process holds it; those of
  // runtime/file.h.
  RunFolder(const std::string& path, Begin begin);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const ModelLayout& layout() const { return layout_; }

 private:
  ModelLayout layout_;
  int lock_ = -1;
};

}  // namespace graphrun
