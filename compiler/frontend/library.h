// The graph files that one compilation reads: each once, all below one folder.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/frontend/definition.h"

namespace graphrun::frontend {

class Library {
 public:
  // `root`: the folder graphs. Diagnostics of every file read are appended to `diagnostics`.
  Library(std::string root, std::vector<Diagnostic>& diagnostics) : root_(std::move(root)), diagnostics_(diagnostics) {}

  // A graph by its path from the root, with all its imports. Null after a diagnostic at `from`: no such file, a path that
  // leaves the root (links resolved), a cycle, or mistakes in the file that leave nothing to work with.
  const Definition* load(const std::string& path, const Location& from);
  // A file as the command line names it: it may lie anywhere; its imports start at the root.
  const Definition* load_file(const std::string& path);

  // Whether the root has a file of that path.
  bool holds(const std::string& path) const;

  std::vector<SourceFile> files() const;
  const std::string& root() const { return root_; }

 private:
  const Definition* read(const std::string& file, const std::string& shown);
  struct Entry {
    std::unique_ptr<Definition> definition;
    std::string text;
    bool loading = false;
  };
  std::string root_;
  std::vector<Diagnostic>& diagnostics_;
  std::map<std::string, Entry> entries_;  // by path from the root, or as shown
  std::vector<std::string> chain_;        // the imports that led here
};

// The folder graphs for a file: `given` where it is not empty, else the nearest folder of that name above the file (or that has
// it), else the installed one.
std::string find_graphs_root(const std::string& file, const std::string& given);

}  // namespace graphrun::frontend
