// The folder that a training run writes, held against every other run for as long as this lives.
#pragma once

#include <string>

#include "tools/model/layout.h"

namespace graphrun {

class RunFolder {
 public:
  enum class Begin {
    kNew,     // nothing of a run may stand in it; it is made where it does not exist
    kResume,  // a run must stand in it
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
