#include "tools/train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/file.h"
#include "runtime/status.h"

namespace graphrun {
namespace {

bool exists(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0;
}

// Whatever a run leaves there, even one that ended early.
bool holds_run(const ModelLayout& layout) {
  return exists(layout.job()) || exists(layout.manifest()) || exists(layout.checkpoints()) || exists(layout.metrics());
}

int take_lock(const std::string& path, const std::string& folder) {
  const int lock = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0) {
    throw UserError(ExitCode::kNoRoom, "E0502 unwritable-file", "cannot write '" + path + "': " + std::strerror(errno));
  }
  int taken = 0;
  do {
    taken = flock(lock, LOCK_EX | LOCK_NB);
  } while (taken != 0 && errno == EINTR);
  if (taken == 0) return lock;
  const int error = errno;
  close(lock);
  if (error == EWOULDBLOCK) {
    throw UserError(ExitCode::kRunFailed, "E0522 run-busy", "another process is training into '" + folder + "'");
  }
  throw UserError(ExitCode::kNoRoom, "E0502 unwritable-file", "cannot lock '" + path + "': " + std::strerror(error));
}

}  // namespace

RunFolder::RunFolder(const std::string& path, Begin begin) : layout_{path} {
  if (begin == Begin::kResume && !holds_run(layout_)) {
    throw UserError(ExitCode::kUsage, "E0521 no-run", "there is no run to resume in '" + path + "'",
                    {"help: leave --resume out to begin one"});
  }
  make_folders(path);
  lock_ = take_lock(layout_.lock(), path);
  // Looked at under the lock: of two runs that begin at once the later one finds what the first left.
  if (begin == Begin::kNew && holds_run(layout_)) {
    close(lock_);
    throw UserError(ExitCode::kUsage, "E0520 run-exists", "a run stands in '" + path + "' already",
                    {"help: --resume goes on with it; else name another folder with --out"});
  }
}

RunFolder::~RunFolder() {
  if (!holds_run(layout_)) {
    // Nothing came of it: no trace is left. Where there are other files, rmdir leaves the folder.
    unlink(layout_.lock().c_str());
    rmdir(layout_.root.c_str());
  }
  close(lock_);
}

}  // namespace graphrun
