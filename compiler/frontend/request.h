// What is asked of the front end, and what it read for it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace graphrun {

// What paths of graphs mean: for each file that names any, "" for a job and the command line, what it says and the path of the
// file that this is. Both by their paths in a model's folder; a path that is not here means itself.
using PathMeanings = std::map<std::string, std::map<std::string, std::string>>;

// What `graph` in a job or on a command line stands for: a file and the values of its args.
struct GraphRequest {
  std::string path;          // a file: as named on the command line, or by a job
  Location at;               // where it is named; unknown: on the command line
  bool from_graphs = false;  // path is looked for as imports are (compiler/frontend/graph_paths.h); else a file as it stands
  std::string job;           // the job that names it: what that names is looked for beside it first; empty: no job does
  std::string graphs_root;   // the folder graphs; empty: the nearest above the job or `path`; then comes the installed one
  // What a model's folder keeps: graphs_root has every graph, and nothing else is looked at.
  std::optional<PathMeanings> kept;
  std::set<std::string> kept_files;  // with `kept`: the graphs that there are, by their paths from graphs_root
  // "name = expression" bindings for args, imports and sizes, each with where it was written (a job's file, or unknown).
  struct Binding {
    std::string name, text;
    Location at;  // of the expression's text
  };
  std::vector<Binding> bindings;
  bool training = true;  // dropout and label smoothing; gone in inference
};

// A file that a graph was made of: the file itself, and every one that it imports.
struct SourceFile {
  std::string path;  // from the folder graphs, or as another file names it; no two are alike
  std::string text;
};
// All that loading a graph again needs.
struct GraphSources {
  std::vector<SourceFile> files;  // each once
  PathMeanings meanings;
};

}  // namespace graphrun
