// Compiled code kept on disk from run to run, by a digest of everything that it was made from. A user's own folder:
// $GRAPHRUN_CACHE, else $XDG_CACHE_HOME/graphrun, else ~/.cache/graphrun. Nothing depends on it: what cannot be read is
// compiled, what cannot be written is compiled again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

class CodeCache {
 public:
  // Empty where the environment names no folder: nothing is kept then.
  static std::string folder();

  // `made_from`: the texts, the compiler and its version, what it compiles for.
  explicit CodeCache(const std::vector<std::string_view>& made_from);
  // What was kept; nothing where it is not there or is not whole.
  std::optional<std::string> find() const;
  void keep(std::string_view code) const;
  const std::string& path() const { return path_; }  // of the file; empty where nothing is kept

 private:
  std::string path_;
};

}  // namespace graphrun
