// The input of the front end, and what it read.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace graphrun {

// The meanings of graph paths: for each file that contains paths ("" for a job and the command line), the path as written and
// the path of the file that it means. Both are paths in a model's folder; a path that is not listed means itself.
using PathMeanings = std::map<std::string, std::map<std::string, std::string>>;

// What an expression of a file means where it is evaluated: "FLOAT[time, batch, 300]", "the number 3".
struct Observation {
  Location at;
  std::string meaning;
};

// A graph named in a job or on a command line: a file and the values of its args.
struct GraphRequest {
  std::string path;          // a file, as named on the command line or by a job
  Location at;               // where it is named; unknown for the command line
  bool from_graphs = false;  // resolve path like an import (compiler/frontend/graph_paths.h); otherwise it is a file name
  std::string job;           // the job that names it, whose folder is searched first; empty if none
  std::string graphs_root;   // the graphs folder; empty: the nearest one above the job or `path`; the installed one comes last
  // For a model's folder: graphs_root contains every graph, and no other place is searched.
  std::optional<PathMeanings> kept;
  std::set<std::string> kept_files;  // with `kept`: the existing graphs, by their paths from graphs_root
  // "name = expression" bindings for args, imports and sizes, each with its location (in a job's file, or unknown).
  struct Setting {
    std::string name, text;
    Location at;  // of the expression's text
  };
  std::vector<Setting> bindings;
  // Values, by their paths, that are kept although no output needs them: they become outputs. Unknown names are ignored.
  std::vector<std::string> keep;
  bool training = true;  // false in inference: removes dropout and label smoothing
  // Receives the meanings of the first kMostObservations expressions that are evaluated; may be null. For editors.
  std::vector<Observation>* observed = nullptr;
  static constexpr std::size_t kMostObservations = 200'000;
};

// A file that a graph was made from: the graph's own file, or one that it imports directly or indirectly.
struct SourceFile {
  std::string path;  // from the graphs folder, or as another file names it; unique
  std::string text;
};
// Everything needed to load a graph again.
struct GraphSources {
  std::vector<SourceFile> files;  // each file once
  PathMeanings meanings;
};

}  // namespace graphrun
