// The graph files that one compilation reads, each of them once, wherever it is (graph_paths.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/frontend/definition.h"
#include "compiler/frontend/graph_paths.h"
#include "compiler/frontend/request.h"

namespace graphrun::frontend {

class Library {
 public:
  // Diagnostics for every file are appended to `diagnostics`.
  Library(const GraphRequest& request, std::vector<Diagnostic>& diagnostics);

  // Loads a graph, with all its imports, by the path written at `from`. Null after a diagnostic there: the file does not exist,
  // the path leads out of its folder (links resolved), there is a cycle, or the file's mistakes leave nothing to work with.
  const Definition* load(const std::string& path, const Location& from);
  // Loads a file named on the command line: it may be anywhere.
  const Definition* load_file(const std::string& path);

  // The paths of the graphs in files called `name`.pbtxt.
  std::vector<std::string> called(const std::string& name) const { return paths_.called(name); }

  GraphSources sources() const;

 private:
  struct Entry {
    std::unique_ptr<Definition> definition;
    std::string kept;  // its path in a model's folder
    std::string text;
    bool loading = false;
  };
  Namer namer(const Location& from) const;
  const Definition* load(const std::string& path, const Namer& by, const Location& from);
  const Definition* read(const std::string& file, const std::string& shown, const std::string& kept);
  std::string unlike_others(const std::string& kept) const;
  bool means(const Namer& by, const std::string& path, const std::string& kept);

  GraphPaths paths_;
  std::vector<Diagnostic>& diagnostics_;
  std::map<std::string, Entry> entries_;        // by file, with links resolved
  std::map<const std::string*, Namer> namers_;  // by the file name in their locations
  PathMeanings meanings_;                       // all, including paths that refer to themselves
  std::vector<std::string> chain_;              // the imports that led here
};

}  // namespace graphrun::frontend
