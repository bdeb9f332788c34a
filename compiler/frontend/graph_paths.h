// Which file the path of a graph means: beside the file that names it, in the project's folder graphs, in the shipped one.
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
    kFile,         // a graph or a job: its paths may leave neither its folder nor a folder graphs
    kCommandLine,  // paths from where the program runs, that may lie anywhere
    kNobody        // a library's client: paths from the folder graphs alone
  };
  Kind kind = Kind::kNobody;
  std::string file;  // as shown
  std::string kept;  // its path in a model's folder; empty: a job or the command line
};

class GraphPaths {
 public:
  explicit GraphPaths(const GraphRequest& request);

  struct Found {
    std::string file;     // links resolved; empty: there is none
    std::string shown;    // as a user would write it
    std::string outside;  // the folder that the path leaves: it is refused
    std::vector<std::string> looked_for;
  };
  // Throws UserError where a place can't be looked at (runtime/base/file.h).
  Found find(const std::string& path, const Namer& by) const;

  // A file's path where a model's folder keeps it: from the folder graphs that it is in, else as `by` names it.
  std::string kept(const std::string& file, const std::string& path, const Namer& by) const;

  // "did you mean …?", of the graphs that `by` could name; empty: none is near.
  std::string hint(const std::string& path, const Namer& by) const;

  // The paths of graphs whose file is called `name`.pbtxt.
  std::vector<std::string> called(const std::string& name) const;

 private:
  struct Place {
    std::string folder;
    bool is_root = false;
  };
  std::vector<Place> places(const Namer& by) const;
  Found find_kept(const std::string& path, const Namer& by) const;
  bool is_kept(const std::filesystem::path& file) const;

  // Each graph's path from the folder, `deep`: of those in folders below too. Read once: what is wrong with a graph is found in
  // each of its calls, of which there may be thousands.
  const std::vector<std::string>& known_in(const std::string& folder, bool deep) const;

  std::vector<std::string> roots_;  // folders graphs, the nearest first
  std::optional<PathMeanings> meanings_;
  std::set<std::string> kept_files_;  // with meanings_: all that there are
  mutable std::map<std::pair<std::string, bool>, std::vector<std::string>> known_;
};

// The folder graphs for a file: the nearest of that name above the file (or that has it) with graphs in it, else the installed
// one.
std::string find_graphs_root(const std::string& file);

}  // namespace graphrun::frontend
