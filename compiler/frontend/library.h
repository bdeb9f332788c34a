// The graph files that one compilation reads: each once, wherever it lies (graph_paths.h).
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
  // Diagnostics of every file read are appended to `diagnostics`.
  Library(const GraphRequest& request, std::vector<Diagnostic>& diagnostics);

  // A graph by the path that stands at `from`, with all its imports. Null after a diagnostic there: no such file, a path that
  // leaves its folder (links resolved), a cycle, or mistakes in the file that leave nothing to work with.
  const Definition* load(const std::string& path, const Location& from);
  // A file as the command line names it: it may lie anywhere.
  const Definition* load_file(const std::string& path);

  // The paths of graphs whose file is called `name`.pbtxt.
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
  std::map<std::string, Entry> entries_;        // by file, links resolved
  std::map<const std::string*, Namer> namers_;  // by the name that locations in them have
  PathMeanings meanings_;                       // all, also of paths that mean themselves
  std::vector<std::string> chain_;              // the imports that led here
};

}  // namespace graphrun::frontend
