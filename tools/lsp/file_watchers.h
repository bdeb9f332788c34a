// What the client is asked to watch on disk (workspace/didChangeWatchedFiles): the graphs and jobs of the project, and files
// that open documents depend on.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/lsp/messages.h"

namespace graphrun::lsp {

class FileWatchers {
 public:
  // A folder, and a pattern of the protocol for paths relative to it.
  using Watched = std::pair<std::string, std::string>;
  static Watched graphs_below(const std::string& folder) { return {folder, "**/*.pbtxt"}; }
  static Watched graphs_in(const std::string& folder) { return {folder, "*.pbtxt"}; }
  static Watched file(const std::string& path);

  // Takes from the parameters of `initialize` what the client can do.
  void read_capabilities(const Json& parameters);
  // The requests that make the client watch all .pbtxt files of the project and `others`, instead of what it watched before.
  // Empty if that is the same, or if the client cannot watch files. The responses need no attention. Only after `initialized`.
  std::vector<Json> watch(const std::set<Watched>& others);

 private:
  bool can_watch_ = false, can_be_relative_ = false, watches_project_ = false;
  int requests_ = 0;
  std::set<Watched> others_;
};

}  // namespace graphrun::lsp
