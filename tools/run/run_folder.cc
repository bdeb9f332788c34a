#include "tools/run/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
#include <filesystem>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/base/system_call.h"

namespace graphrun {
namespace {

constexpr std::string_view kSeedPrefix = "seed-";

bool run_lies_in(const ModelLayout& layout) {
  return is_there(layout.job()) || is_there(layout.manifest()) || is_there(layout.checkpoints()) || is_there(layout.metrics());
}

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& other) {
  throw UserError(ExitCode::kUsage, "E0520 run-exists", fmt::format("'{}' already contains {}", path, what),
                  {"help: " + other + "name another folder with --out"});
}

// Removes what was written under the name of a folder that had just been moved, unless another run is there now.
void clear_place(const ModelLayout& layout) {
  if (is_there(layout.lock())) return;
  for (const char* name : {"checkpoints", "best", "candidates", "graphs", "vocabularies", "subwords"}) {
    remove_folder(layout.path(name));
  }
  for (const char* name :
       {"manifest.json", "job.pbtxt", "graphs.json", "data.json", "graph.txt", "starts.jsonl", "train.log"}) {
    unlink(layout.path(name).c_str());
  }
  rmdir(layout.root.c_str());
}

}  // namespace

bool holds_run(const std::string& folder) { return run_lies_in(ModelLayout{folder}); }

std::string seed_folder(const std::string& folder, std::uint64_t seed) {
  return fmt::format("{}/{}{}", folder, kSeedPrefix, seed);
}

std::vector<std::uint64_t> seeds_in(const std::string& folder) {
  std::vector<std::uint64_t> seeds;
  if (!is_there(folder)) return seeds;
  for (const std::string& name : names_in(folder)) {
    std::uint64_t seed = 0;
    if (!name.starts_with(kSeedPrefix)) continue;
    const char* const end = name.data() + name.size();
    const auto [read, error] = std::from_chars(name.data() + kSeedPrefix.size(), end, seed);
    if (error == std::errc() && read == end && holds_run(folder + "/" + name)) seeds.push_back(seed);
  }
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

void require_no_run(const std::string& path, bool resumes) {
  if (run_lies_in(ModelLayout{path})) refuse(path, "a run", resumes ? "--resume continues it; else " : "");
  if (!seeds_in(path).empty()) refuse(path, "runs of several seeds", "--seeds N,N,... --resume continues them; else ");
}

RunFolder::RunFolder(const std::string& path, Begin begin) : name_(path), layout_{path} {
  if (begin == Begin::kShared) return;
  if (begin == Begin::kResume && !run_lies_in(layout_)) {
    throw UserError(ExitCode::kUsage, "E0521 no-run", "there is no run to resume in '" + path + "'",
                    {"help: leave --resume out to begin one"});
  }
  make_folders(path);
  lock_ = FolderLock(layout_.lock(), path);
  folder_ = uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (folder_ < 0) unwritable_file(path, "open the folder", errno);
  // Checked while holding the lock: if two runs begin at once, the later one finds the files of the first.
  if (begin == Begin::kResume || (begin == Begin::kEither && run_lies_in(layout_))) return;
  try {
    require_no_run(path, begin != Begin::kMade);
  } catch (...) {
    close(folder_);
    throw;
  }
}

RunFolder::~RunFolder() {
  if (!is_ours()) return;
  try {
    if (lock_.at(layout_.lock()) && !run_lies_in(layout_)) {
      // The run left nothing, so remove all traces. If there are other files, rmdir keeps the folder.
      unlink(layout_.lock().c_str());
      rmdir(layout_.root.c_str());
    }
  } catch (const std::exception&) {  // unknown whether it left anything: keep the lock
  }
  close(folder_);
}

void RunFolder::find() {
  if (has_moved() || lock_.at(layout_.lock())) return;
  const bool here = is_at(folder_, name_);
  if (here && is_there(layout_.lock())) {
    throw UserError(ExitCode::kRunFailed, "E0522 run-busy",
                    fmt::format("another run has taken '{}' since its run.lock was removed", name_));
  }
  if (here && is_there(layout_.manifest())) {
    lock_ = FolderLock(layout_.lock(), name_);
    return;
  }
  struct stat info {};
  if (!here && fstat(folder_, &info) == 0 && info.st_nlink > 0) {
    layout_.root = fmt::format("/proc/self/fd/{}", folder_);
    return;
  }
  throw UserError(ExitCode::kNoRoom, "E0526 removed-folder",
                  fmt::format("{} '{}' was removed while the training ran", here ? "the run in" : "the folder", name_),
                  {"note: nothing is left of the run",
                   "help: SIGINT ends a training with a checkpoint; then its folder can be moved to another disk"});
}

void RunFolder::inside(const std::function<void()>& act) {
  if (!is_ours()) return;
  find();
  const bool known = has_moved();
  std::exception_ptr failure;
  try {
    act();
  } catch (const UserError&) {
    failure = std::current_exception();
  }
  find();
  if (known == has_moved()) {
    if (failure) std::rethrow_exception(failure);
    return;
  }
  clear_place(ModelLayout{name_});
  act();
}

UserError RunFolder::moved(std::int64_t step) const {
  std::error_code error;
  const std::string now = std::filesystem::read_symlink(layout_.root, error).string();
  return {ExitCode::kNoRoom,
          "E0525 moved-folder",
          fmt::format("the folder '{}' was moved to '{}' while the training ran", name_, now),
          {fmt::format("note: the checkpoint of step {} is saved there", step),
           fmt::format("help: --out {} --resume continues it", now)}};
}

}  // namespace graphrun
