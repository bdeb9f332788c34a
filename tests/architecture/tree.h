// The source tree as the architecture tests see it: files, their lines, what they include.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace graphrun::architecture {

// A line `#include "path"` or `#include <path>`.
struct Include {
  std::string path;
  bool quoted = false;
  int line = 0;
};

struct Source {
  std::string path;  // from the root of the repository, "runtime/tensor.h"
  int lines = 0;
  bool pragma_once = false;
  std::vector<Include> includes;
};

using Tree = std::map<std::string, Source>;  // by path

// Every .h and .cc file of the project's folders, tracked or not.
Tree read_tree(const std::filesystem::path& root);

// Reads one file's text as read_tree does.
Source read_source(std::string path, const std::string& text);

// What stands at the top level: as git has it, or as the folder has it where this is no clone.
std::vector<std::string> top_level(const std::filesystem::path& root);

// Why `source` may not include `include`, by the folders they stand in; empty where it may.
std::string layering_fault(const std::string& source, const Include& include);

// One cycle of quoted includes as paths, the first repeated at the end; empty where there is none.
std::vector<std::string> find_cycle(const Tree& tree);

}  // namespace graphrun::architecture
