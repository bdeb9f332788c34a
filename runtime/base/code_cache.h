// A cache on disk for compiled code, keyed by a digest of everything the code was made from. It lives in a folder of the
// user's: $GRAPHRUN_CACHE, else $XDG_CACHE_HOME/graphrun, else ~/.cache/graphrun. Nothing depends on the cache: code that
// cannot be read is compiled, and code that cannot be written is compiled again next time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

class CodeCache {
 public:
  // Empty if the environment names no folder; then nothing is cached.
  static std::string folder();

  // `made_from`: the texts, the compiler and its version, what it compiles for.
  explicit CodeCache(const std::vector<std::string_view>& made_from);
  // The cached code, or nothing if it is missing or incomplete.
  std::optional<std::string> find() const;
  void keep(std::string_view code) const;
  const std::string& path() const { return path_; }  // the file's path; empty if nothing is cached

 private:
  std::string path_;
};

}  // namespace graphrun
