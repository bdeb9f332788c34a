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

// Why `source` may not include `include`, judging by their folders; "" if it may.
std::string layering_fault(const std::string& source, const Include& include);

// Whether a file may not ask an object for its class (dynamic_cast). What a kernel, an operator or a node is has a fixed set of
// alternatives, and whoever tells them apart visits a variant: then a new alternative does not compile until it is handled.
bool may_not_cast(const std::string& path);

// The folders of a tree but for its tests, as a tree: each includes the folders that its files include.
Tree folders_of(const Tree& tree);

// The units of every folder but the tests', by the folder's path: a header, its source and its .cu are one.
std::map<std::string, std::set<std::string>> units_of(const Tree& tree);

// The README.md that describes a folder: its own, or that of the nearest folder around it.
std::filesystem::path readme_of(const std::filesystem::path& root, const std::string& folder);

// The folders that have more than `most` units.
std::vector<std::string> crowded_folders(const std::map<std::string, std::set<std::string>>& units, std::size_t most);

// Those of the units that the text of a README does not name.
std::vector<std::string> unnamed_units(const std::string& readme, const std::set<std::string>& units);

// The lines of a source that compare an operator's name or family with something else.
std::vector<int> comparisons_of_op_names(const std::string& text);

// The lines of a source that add to or subtract from the counts of a scan's operands, or the positions where a kind of them
// begins: that is how the order of the operands is computed (ScanSlots, ir::ScanLayout).
std::vector<int> slot_arithmetic(const std::string& text);

// The classes that a source defines, those inside of others too, and its enumerations but for those inside of classes.
std::vector<std::string> types_defined(const std::string& text);

// The names that several sources, or one several times, define a type by, each with these sources. `types`: by path. A .cu and
// its _emulation.cc are compiled in place of each other.
std::map<std::string, std::vector<std::string>> types_defined_twice(
    const std::map<std::string, std::vector<std::string>>& types);

// The whole text of a file. Throws std::runtime_error where it cannot be read.
std::string read_text(const std::filesystem::path& path);

// A source with its lines, but without comments and without the contents of its literals ("", '').
std::string code_of(const std::string& text);

// One cycle of quoted includes as paths, the first repeated at the end; empty if there is none.
std::vector<std::string> find_cycle(const Tree& tree);

}  // namespace graphrun::architecture
