#include "tests/architecture/tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace graphrun::architecture {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 5> kFolders = {"runtime", "ops", "compiler", "tools", "tests"};

}  // namespace

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().generic_string(); }

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Source read_source(std::string path, const std::string& text) {
  Source source;
  source.path = std::move(path);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    ++source.lines;
    if (line.substr(0, line.find("//")).find("dynamic_cast<") != std::string::npos)
      source.dynamic_casts.push_back(source.lines);
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (line == "#pragmaonce") source.pragma_once = true;
    constexpr std::string_view kInclude = "#include";
    if (!line.starts_with(kInclude) || line.size() < kInclude.size() + 2) continue;
    const char open = line[kInclude.size()];
    const std::size_t first = kInclude.size() + 1, last = line.find(open == '<' ? '>' : '"', first);
    if ((open != '<' && open != '"') || last == std::string::npos) continue;
    const std::string path = line.substr(first, last - first);
    // Highway's own headers are written in quotes, as its manual has it.
    source.includes.push_back({path, open == '"' && !path.starts_with("hwy/"), source.lines});
  }
  return source;
}

Tree read_tree(const fs::path& root) {
  Tree tree;
  for (const char* folder : kFolders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cc" && extension != ".cu")) continue;
      const std::string path = fs::relative(entry.path(), root).generic_string();
      tree.emplace(path, read_source(path, read_text(entry.path())));
    }
  }
  return tree;
}

std::vector<std::string> top_level(const fs::path& root) {
  std::vector<std::string> names;
  if (!fs::exists(root / ".git")) {
    for (const auto& entry : fs::directory_iterator(root)) names.push_back(entry.path().filename().string());
    return names;
  }
  // Only tracked files: a user's own files and build folders do not matter.
  const std::string command = "git -c safe.directory='*' -C '" + root.string() + "' ls-files --cached";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("cannot run git");
  std::string text;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) text.append(buffer.data(), n);
  std::set<std::string> distinct;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) distinct.insert(line.substr(0, line.find('/')));
  names.assign(distinct.begin(), distinct.end());
  return names;
}

std::map<std::string, std::set<std::string>> units_of(const Tree& tree) {
  std::map<std::string, std::set<std::string>> units;
  for (const auto& [path, source] : tree) {
    if (!path.starts_with("tests/")) units[folder_of(path)].insert(fs::path(path).stem().string());
  }
  return units;
}

fs::path readme_of(const fs::path& root, const std::string& folder) {
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    if (fs::exists(root / at / "README.md")) return root / at / "README.md";
  }
  return root / "README.md";
}

std::vector<std::string> crowded_folders(const std::map<std::string, std::set<std::string>>& units, std::size_t most) {
  std::vector<std::string> folders;
  for (const auto& [folder, names] : units) {
    if (names.size() > most) folders.push_back(folder);
  }
  return folders;
}

std::vector<std::string> unnamed_units(const std::string& readme, const std::set<std::string>& units) {
  std::set<std::string> words;
  std::string word;
  for (char c : readme + "\n") {
    const bool of_name = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    if (of_name) word += c;
    if (!of_name && !word.empty()) words.insert(std::exchange(word, ""));
  }
  std::vector<std::string> unnamed;
  std::set_difference(units.begin(), units.end(), words.begin(), words.end(), std::back_inserter(unnamed));
  return unnamed;
}

}  // namespace graphrun::architecture
