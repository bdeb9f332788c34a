#include "tools/run/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/file.h"
#include "runtime/base/process.h"
#include "runtime/base/status.h"
#include "runtime/base/system_call.h"

namespace graphrun {
namespace {

// This long after they have written it, two processes that took the lock at the same time both see which of them has it.
constexpr std::chrono::milliseconds kSettles{100};

// What a lock file says of the process that holds it.
struct Holder {
  std::string name;   // "process 123 on machine 'a'"
  std::string since;  // "started 456 after boot ID": tells it from later processes with the same number
  friend bool operator==(const Holder&, const Holder&) = default;

  std::string text() const { return name + "\n" + since + "\n"; }
};

std::string name_of(pid_t process) { return fmt::format("process {} on machine '{}'", process, machine_name()); }

Holder this_process() { return {name_of(getpid()), state_of_process(getpid()).start}; }

// Nullopt if the file names no process, as after a run has ended.
std::optional<Holder> holder(int file) {
  std::array<char, 600> text{};
  const ssize_t n = pread(file, text.data(), text.size(), 0);
  const std::string found(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t end = found.find('\n');
  if (!found.starts_with("process ") || end == std::string::npos) return std::nullopt;
  const std::size_t after = found.find('\n', end + 1);
  return Holder{found.substr(0, end), after == std::string::npos ? "" : found.substr(end + 1, after - end - 1)};
}

bool write_holder(int file) {
  const std::string text = this_process().text();
  return ftruncate(file, 0) == 0 && pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

// Whether the holder is a process of this machine that has ended.
bool has_ended(const Holder& by) {
  const pid_t process = std::atoi(by.name.c_str() + std::string_view("process ").size());
  if (by.name != name_of(process)) return false;
  const ProcessState now = state_of_process(process);
  return !now.runs || (!now.start.empty() && now.start != by.since);
}

[[noreturn]] void refuse(const std::string& folder, const std::string& path, const std::optional<Holder>& by,
                         bool by_contents) {
  std::vector<std::string> notes = {"help: wait for its end, or name another folder with --out"};
  if (by_contents) notes.push_back(fmt::format("help: if its machine has failed, remove '{}'", path));
  throw UserError(ExitCode::kRunFailed, "E0522 run-busy",
                  fmt::format("{} is training into '{}'", by ? by->name : "another process", folder), std::move(notes));
}

// The file that a process renames to `path`: "run.lock.machine-123".
std::string own_path(const std::string& path, pid_t process) { return fmt::format("{}.{}-{}", path, machine_name(), process); }

// Removes such files of processes of this machine that were killed before they renamed them.
void drop_leftovers(const std::string& path) {
  const std::size_t slash = path.rfind('/') + 1;
  const std::string folder = path.substr(0, slash), before_pid = path.substr(slash) + "." + machine_name() + "-";
  for (const std::string& name : names_in(folder.empty() ? "." : folder)) {
    if (!name.starts_with(before_pid)) continue;
    const pid_t process = std::atoi(name.c_str() + before_pid.size());
    const std::string left = folder + name;
    if (left == own_path(path, process) && !state_of_process(process).runs) unlink(left.c_str());
  }
}

int open_lock(const std::string& path) {
  const int file = uninterrupted([&] { return open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
  if (file < 0) unwritable_file(path, "write", errno);
  return file;
}

}  // namespace

bool is_at(int file, const std::string& path) {
  struct stat opened {
  }, named{};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

FolderLock::FolderLock(const std::string& path, const std::string& folder) {
  while (!held()) {
    const int file = open_lock(path);
    const int taken = uninterrupted([&] { return flock(file, LOCK_EX | LOCK_NB); });
    const int error = taken == 0 ? 0 : errno;
    if (taken == 0 && is_at(file, path)) {
      // The text is only for messages. If the disk is full, more important writes will report it.
      static_cast<void>(write_holder(file));
      file_ = file;
      return;
    }
    const std::optional<Holder> by = holder(file);
    close(file);
    if (error == EWOULDBLOCK) refuse(folder, path, by, false);
    if (error == ENOSYS || error == EOPNOTSUPP || error == ENOLCK) {
      take_by_contents(path, folder);
      return;
    }
    if (error != 0) unwritable_file(path, "lock", error);
  }
}

// Replaces the file by one that names this process, unless it names one that may be running. If two processes do so at the same
// time, the later one gets the lock: both check again a little later. A process that is delayed for longer may still replace
// the file of the one that has the lock, which notices this before its next save (RunFolder::inside) and ends.
void FolderLock::take_by_contents(const std::string& path, const std::string& folder) {
  const std::string own = own_path(path, getpid());
  const int file = uninterrupted([&] { return open(own.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); });
  if (file < 0) unwritable_file(path, "write", errno);
  const auto give_up = [&](const std::optional<Holder>& by) {
    close(file);
    unlink(own.c_str());
    refuse(folder, path, by, true);
  };
  if (!write_holder(file)) {
    const int error = errno;
    close(file);
    unlink(own.c_str());
    unwritable_file(own, "write", error);
  }
  const int before = open_lock(path);
  const std::optional<Holder> by = holder(before);
  close(before);
  if (by && !has_ended(*by)) give_up(by);
  if (rename(own.c_str(), path.c_str()) != 0) {
    const int error = errno;
    close(file);
    unlink(own.c_str());
    unwritable_file(path, "rename to", error);
  }
  std::this_thread::sleep_for(kSettles);
  if (!is_at(file, path)) {
    const int other = open_lock(path);
    const std::optional<Holder> now = holder(other);
    close(other);
    give_up(now);
  }
  file_ = file, by_contents_ = true;
  drop_leftovers(path);
}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  if (this == &other) return *this;
  release();
  file_ = std::exchange(other.file_, -1), by_contents_ = other.by_contents_;
  return *this;
}

void FolderLock::release() {
  if (!held()) return;
  if (by_contents_) static_cast<void>(ftruncate(file_, 0));
  close(file_);
  file_ = -1;
}

}  // namespace graphrun
