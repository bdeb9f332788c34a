// The lock on the folder of a training run: its file run.lock.
#pragma once

#include <string>

namespace graphrun {

// Whether the path still refers to the open file or folder.
bool is_at(int file, const std::string& path);

// Held until the object is destroyed; the file stays. Where the file system has flock, the lock ends with the process, however
// that ends. Elsewhere (Lustre without -o flock) the file's contents are the lock: they name the process that holds it. The
// lock of a process of this machine that has ended is taken over; whether a process of another machine still runs is unknown.
class FolderLock {
 public:
  FolderLock() = default;  // not held
  // Throws UserError (kRunFailed, E0522 run-busy) if another process holds it, and those of unwritable_file. `folder` is for
  // the message.
  FolderLock(const std::string& path, const std::string& folder);
  ~FolderLock() { release(); }
  FolderLock(FolderLock&& other) noexcept { *this = static_cast<FolderLock&&>(other); }
  FolderLock& operator=(FolderLock&& other) noexcept;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  bool held() const { return file_ >= 0; }
  // Whether the path still refers to the file that is held: it may have been moved, removed, or replaced by another process.
  bool at(const std::string& path) const { return is_at(file_, path); }

 private:
  void take_by_contents(const std::string& path, const std::string& folder);
  void release();

  int file_ = -1;
  bool by_contents_ = false;
};

}  // namespace graphrun
