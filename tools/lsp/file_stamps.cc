#include "tools/lsp/file_stamps.h"

#include <sys/stat.h>

#include <algorithm>

namespace graphrun::lsp {
namespace {

// File systems count time in steps of a few milliseconds.
constexpr std::chrono::milliseconds kStep(20);

}  // namespace

FileStamps::Stamp FileStamps::stamp_of(const std::string& path) {
  Stamp stamp;
  struct stat state {};
  if (stat(path.c_str(), &state) != 0) return stamp;
  stamp.is_there = true;
  stamp.device = state.st_dev;
  stamp.number = state.st_ino;
  stamp.bytes = static_cast<unsigned long long>(state.st_size);
  stamp.seconds = state.st_mtim.tv_sec;
  stamp.nanoseconds = state.st_mtim.tv_nsec;
  return stamp;
}

void FileStamps::add(const std::set<std::string>& paths, Time began) {
  const Time now = std::chrono::system_clock::now();
  for (const std::string& path : paths) {
    Stamp stamp = stamp_of(path);
    const Time written(std::chrono::duration_cast<Time::duration>(std::chrono::seconds(stamp.seconds) +
                                                                  std::chrono::nanoseconds(stamp.nanoseconds)));
    stamp.is_doubtful = stamp.is_there && written >= began - kStep && written <= now;
    stamps_.emplace(path, stamp);
  }
}

bool FileStamps::changed() const {
  return std::any_of(stamps_.begin(), stamps_.end(),
                     [](const auto& known) { return known.second.is_doubtful || !(known.second == stamp_of(known.first)); });
}

}  // namespace graphrun::lsp
