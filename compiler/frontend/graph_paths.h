// Resolves the path of a graph to a file: next to the file that names it, in the project's graphs folder, or in the shipped
// one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/request.h"

namespace graphrun::frontend {

// What names a graph.
struct Namer {
  enum class Kind {
    kFile,         // a graph or a job: its paths must stay in its folder or a graphs folder
    kCommandLine,  // paths relative to the current directory, which may lead anywhere
    kNobody        // a library's client: paths from the graphs folder only
  };
  Kind kind = Kind::kNobody;
  std::string file;  // as shown to the user
  std::string kept;  // its path in a model's folder; empty: a job or the command line
};

class GraphPaths {
 public:
  explicit GraphPaths(const GraphRequest& request);

  struct Found {
    std::string file;     // with links resolved; empty if not found
    std::string shown;    // in the form that a user would write
    std::string outside;  // the folder that the path leads out of: an error
    std::vector<std::string> looked_for;
  };
  // Throws UserError if a place cannot be examined (runtime/base/file.h).
  Found find(const std::string& path, const Namer& by) const;

  // The path of a file in a model's folder: relative to the graphs folder that contains it, else as `by` names it.
  std::string kept(const std::string& file, const std::string& path, const Namer& by) const;

  // "did you mean …?", with graphs that `by` could name; empty if none is similar.
  std::string hint(const std::string& path, const Namer& by) const;

  // The paths of all graphs that `by` could name.
  std::vector<std::string> known(const Namer& by) const;

  // The paths of the graphs in files called `name`.pbtxt.
  std::vector<std::string> called(const std::string& name) const;

 private:
  struct SearchedFolder {
    std::string folder;
    bool is_root = false;
  };
  std::vector<SearchedFolder> places(const Namer& by) const;
  Found find_kept(const std::string& path, const Namer& by) const;
  bool is_kept(const std::filesystem::path& file) const;

  // The path of each graph, relative to the folder; `deep`: including subfolders. Read once, because each of possibly thousands
  // of calls of a graph reports the graph's mistake.
  const std::vector<std::string>& known_in(const std::string& folder, bool deep) const;

  std::vector<std::string> roots_;  // the graphs folders, the nearest first
  std::optional<PathMeanings> meanings_;
  std::set<std::string> kept_files_;  // if meanings_ is set: all that exist
  mutable std::map<std::pair<std::string, bool>, std::vector<std::string>> known_;
};

// The graphs folder for a file: the nearest one, above the file or next to a folder above it, that has graphs in it; else the
// installed one.
std::string find_graphs_root(const std::string& file);

}  // namespace graphrun::frontend
