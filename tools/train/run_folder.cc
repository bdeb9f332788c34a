#include "tools/train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "runtime/file.h"
#include "runtime/status.h"

namespace graphrun {
namespace {

constexpr std::string_view kSeedPrefix = "seed-";

bool exists(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0;
}

bool run_lies_in(const ModelLayout& layout) {
  return exists(layout.job()) || exists(layout.manifest()) || exists(layout.checkpoints()) || exists(layout.metrics());
}

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& other) {
  throw UserError(ExitCode::kUsage, "E0520 run-exists", fmt::format("{} in '{}' already", what, path),
                  {"help: " + other + "name another folder with --out"});
}

// What the process that holds the lock wrote into it: "process 123 on machine 'a'".
std::string holder(int lock) {
  std::array<char, 300> text{};
  const ssize_t n = pread(lock, text.data(), text.size(), 0);
  const std::string found(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return found.starts_with("process ") && found.ends_with('\n') ? found.substr(0, found.size() - 1) : "another process";
}

void name_holder(int lock) {
  const std::string text = fmt::format("process {} on machine '{}'\n", getpid(), machine_name());
  // Only for messages: a disk without room for it is told about by what matters.
  static_cast<void>(ftruncate(lock, 0) == 0 && pwrite(lock, text.data(), text.size(), 0) > 0);
}

// Whether the name still leads to the open file: a run that came to nothing removes its lock.
bool is_at(int lock, const std::string& path) {
  struct stat opened {
  }, named{};
  return fstat(lock, &opened) == 0 && stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

int take_lock(const std::string& path, const std::string& folder) {
  while (true) {
    const int lock = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0) unwritable_file(path, "write", errno);
    int taken = 0;
    do {
      taken = flock(lock, LOCK_EX | LOCK_NB);
    } while (taken != 0 && errno == EINTR);
    const int error = taken == 0 ? 0 : errno;
    if (taken == 0 && is_at(lock, path)) {
      name_holder(lock);
      return lock;
    }
    const std::string by = holder(lock);
    close(lock);
    if (error == EWOULDBLOCK) {
      throw UserError(ExitCode::kRunFailed, "E0522 run-busy", fmt::format("{} is training into '{}'", by, folder),
                      {"help: wait for its end, or name another folder with --out"});
    }
    if (error != 0) unwritable_file(path, "lock", error);
  }
}

}  // namespace

bool holds_run(const std::string& folder) { return run_lies_in(ModelLayout{folder}); }

std::string seed_folder(const std::string& folder, std::uint64_t seed) {
  return fmt::format("{}/{}{}", folder, kSeedPrefix, seed);
}

std::vector<std::uint64_t> seeds_in(const std::string& folder) {
  std::vector<std::uint64_t> seeds;
  std::error_code none;  // no such folder
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    std::uint64_t seed = 0;
    if (!name.starts_with(kSeedPrefix)) continue;
    const char* const end = name.data() + name.size();
    const auto [read, error] = std::from_chars(name.data() + kSeedPrefix.size(), end, seed);
    if (error == std::errc() && read == end && holds_run(entry.path().string())) seeds.push_back(seed);
  }
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

RunFolder::RunFolder(const std::string& path, Begin begin) : layout_{path} {
  if (begin == Begin::kResume && !run_lies_in(layout_)) {
    throw UserError(ExitCode::kUsage, "E0521 no-run", "there is no run to resume in '" + path + "'",
                    {"help: leave --resume out to begin one"});
  }
  make_folders(path);
  lock_ = take_lock(layout_.lock(), path);
  // Looked at under the lock: of two runs that begin at once the later one finds what the first left.
  if (begin == Begin::kResume) return;
  const bool run = run_lies_in(layout_), seeds = !seeds_in(path).empty();
  if (!run && !seeds) return;
  close(lock_);
  if (!run) refuse(path, "runs of several seeds stand", "--seeds N,N,... --resume goes on with them; else ");
  refuse(path, "a run stands", begin == Begin::kNew ? "--resume goes on with it; else " : "");
}

RunFolder::~RunFolder() {
  if (!run_lies_in(layout_)) {
    // Nothing came of it: no trace is left. Where there are other files, rmdir leaves the folder.
    unlink(layout_.lock().c_str());
    rmdir(layout_.root.c_str());
  }
  close(lock_);
}

}  // namespace graphrun
