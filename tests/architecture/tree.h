// The source tree as the architecture tests see it: files, their lines, what they include.
#pragma once

#include <filesystem>
#include <map>
#include <set>
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
  std::string path;  // from the root of the repository, "runtime/tensor/tensor.h"
  int lines = 0;
  bool pragma_once = false;
  std::vector<int> dynamic_casts;  // lines that have one, comments aside
  std::vector<Include> includes;
};

using Tree = std::map<std::string, Source>;  // by path

// Every .h and .cc file of the project's folders, tracked or not.
Tree read_tree(const std::filesystem::path& root);

// Reads one file's text as read_tree does.
Source read_source(std::string path, const std::string& text);

// The names at the top level, from git, or from the folder if it is not a clone.
std::vector<std::string> top_level(const std::filesystem::path& root);

// The folder of a file, "runtime/tensor".
std::string folder_of(const std::string& path);

// The units of every folder but the tests', by the folder's path: a header, its source and its .cu are one.
std::map<std::string, std::set<std::string>> units_of(const Tree& tree);

// The README.md that describes a folder: its own, or that of the nearest folder around it.
std::filesystem::path readme_of(const std::filesystem::path& root, const std::string& folder);

// The folders that have more than `most` units.
std::vector<std::string> crowded_folders(const std::map<std::string, std::set<std::string>>& units, std::size_t most);

// Those of the units that the text of a README does not name.
std::vector<std::string> unnamed_units(const std::string& readme, const std::set<std::string>& units);

// The whole text of a file. Throws std::runtime_error where it cannot be read.
std::string read_text(const std::filesystem::path& path);

}  // namespace graphrun::architecture
