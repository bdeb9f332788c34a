// Whether files on disk are as they were.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

namespace graphrun::lsp {

class FileStamps {
 public:
  using Time = std::chrono::system_clock::time_point;
  // Notes the state of these files, which were read after `began`; a file may be absent.
  void add(const std::set<std::string>& paths, Time began);
  // Whether any of them was changed, created or removed since.
  bool changed() const;
  void clear() { stamps_.clear(); }

 private:
  struct Stamp {
    bool is_there = false;
    unsigned long long device = 0, number = 0, bytes = 0;
    long long seconds = 0, nanoseconds = 0;  // of the last change
    bool is_doubtful = false;                // it may have changed while it was read
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static Stamp stamp_of(const std::string& path);

  std::map<std::string, Stamp> stamps_;
};

}  // namespace graphrun::lsp
