#include "tests/architecture/tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace graphrun::architecture {

namespace fs = std::filesystem;

namespace {

// Each includes itself and those before it.
constexpr std::array<const char*, 10> kRuntimeFolders = {
    "runtime/base/",   "runtime/tensor/",  "runtime/program/",      "runtime/threads/", "runtime/scan/",
    "runtime/device/", "runtime/execute/", "runtime/communicator/", "runtime/cuda/",    "runtime/mpi/"};
constexpr std::array<const char*, 5> kFolders = {"runtime", "ops", "compiler", "tools", "tests"};

bool under_any(const std::string& path, std::initializer_list<const char*> folders) {
  for (const char* folder : folders)
    if (path.starts_with(folder)) return true;
  return false;
}

// The position of the path's folder among the runtime's layers, or their number if it is in none of them.
std::size_t runtime_layer(const std::string& path) {
  return static_cast<std::size_t>(std::find_if(kRuntimeFolders.begin(), kRuntimeFolders.end(),
                                               [&](const char* folder) { return path.starts_with(folder); }) -
                                  kRuntimeFolders.begin());
}

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().generic_string(); }

}  // namespace

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

std::string layering_fault(const std::string& source, const Include& include) {
  const std::string& to = include.path;
  if (!include.quoted) {
    const bool protobuf = to.starts_with("google/protobuf");
    if (protobuf && under_any(source, {"runtime/", "ops/", "compiler/ir/", "compiler/passes/"}))
      return "protobuf is for the front end and the tools";
    return "";
  }
  if (under_any(source, {"tests/"})) return "";
  if (under_any(to, {"tests/"})) return "only tests include tests/";
  if (under_any(source, {"tools/"})) return "";
  if (under_any(source, {"runtime/"})) {
    if (!under_any(to, {"runtime/"})) return "runtime/ includes runtime/ alone";
    const std::size_t own = runtime_layer(source), other = runtime_layer(to);
    if (own == kRuntimeFolders.size()) return "it stands in none of the runtime's folders";
    return other <= own ? "" : std::string(kRuntimeFolders[own]) + " is a layer below " + to.substr(0, to.rfind('/') + 1);
  }
  if (under_any(source, {"compiler/ir/"}))
    return under_any(to, {"runtime/", "compiler/ir/"}) ? "" : "compiler/ir/ includes runtime/ and compiler/ir/ alone";
  if (under_any(source, {"ops/"}))
    return under_any(to, {"runtime/", "compiler/ir/", "ops/"}) ? "" : "ops/ includes runtime/, compiler/ir/ and ops/ alone";
  // compiler/ itself.
  if (under_any(to, {"runtime/", "compiler/"}) || to == "ops/schema.h") return "";
  if (to.starts_with("graphs/"))
    return under_any(source, {"compiler/frontend/"}) ? "" : "of compiler/, only the front end reads the schemas";
  if (to.starts_with("ops/")) return "of ops/, compiler/ includes ops/schema.h alone";
  return "compiler/ includes runtime/, compiler/ and ops/schema.h alone";
}

bool may_not_cast(const std::string& path) { return under_any(path, {"runtime/", "ops/", "compiler/"}); }

Tree folders_of(const Tree& tree) {
  Tree folders;
  for (const auto& [path, source] : tree) {
    if (under_any(path, {"tests/"})) continue;
    Source& folder = folders[folder_of(path)];
    for (const Include& include : source.includes) {
      const std::string other = folder_of(include.path);
      if (include.quoted && other != folder_of(path)) folder.includes.push_back({other, true, include.line});
    }
  }
  return folders;
}

std::map<std::string, std::set<std::string>> units_of(const Tree& tree) {
  std::map<std::string, std::set<std::string>> units;
  for (const auto& [path, source] : tree) {
    if (!under_any(path, {"tests/"})) units[folder_of(path)].insert(fs::path(path).stem().string());
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

std::vector<int> comparisons_of_op_names(const std::string& text) {
  // op->name == "add", "add" == node.op->name, family != "reduce", source->op == "add".
  static const std::regex comparison(
      R"(\b(op_?(->|\.)(name|family)|family)\s*[=!]=|[=!]=\s*[\w.>\-]*\bop_?(->|\.)(name|family)\b)"
      R"(|(->|\.)op\s*[=!]=\s*")");
  std::vector<int> lines;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (std::regex_search(line.substr(0, line.find("//")), comparison)) lines.push_back(number);
  }
  return lines;
}

std::string code_of(const std::string& text) {
  std::string code;
  std::size_t at = 0;
  // To behind the next `close`; keeps only the ends of lines.
  const auto skip_to = [&](const std::string& close) {
    const std::size_t found = text.find(close, at);
    const std::size_t end = found == std::string::npos ? text.size() : found + close.size();
    code.append(static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                    text.begin() + static_cast<std::ptrdiff_t>(end), '\n')),
                '\n');
    at = end;
  };
  const auto is_part_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  while (at < text.size()) {
    const char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == '/' && next == '/') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '/' && next == '*') {
      skip_to("*/");
    } else if (c == 'R' && next == '"' && (at == 0 || !is_part_of_name(text[at - 1]))) {
      const std::size_t open = std::min(text.find('(', at), text.size());
      code += "\"\"";
      skip_to(")" + text.substr(at + 2, open - at - 2) + "\"");
    } else if (c == '"' || (c == '\'' && (at == 0 || !is_part_of_name(text[at - 1])))) {  // ' may separate digits
      code += c, code += c;
      for (++at; at < text.size() && text[at] != c && text[at] != '\n'; ++at) at += text[at] == '\\' ? 1 : 0;
      ++at;
    } else {
      code += c, ++at;
    }
  }
  return code;
}

namespace {

struct Token {
  std::string text;
  int line = 0;
  bool is_word() const { return std::isalnum(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_'; }
};

std::vector<Token> tokens_of(const std::string& code) {
  static const std::set<std::string> pairs = {"->", "++", "--", "+=", "-=", "::"};
  std::vector<Token> tokens;
  int line = 1;
  for (std::size_t at = 0; at < code.size();) {
    if (code[at] == '\n') ++line;
    std::size_t end = at;
    while (end < code.size() && (std::isalnum(static_cast<unsigned char>(code[end])) != 0 || code[end] == '_')) ++end;
    if (end == at) end = at + (pairs.count(code.substr(at, 2)) != 0 ? 2 : 1);
    if (std::isspace(static_cast<unsigned char>(code[at])) == 0) tokens.push_back({code.substr(at, end - at), line});
    at = end;
  }
  return tokens;
}

// Finds operands of + and - that are counts of a scan's operands, or positions where a kind of them begins.
class SlotOperands {
 public:
  explicit SlotOperands(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::vector<int> lines() const {
    std::vector<int> lines;
    for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
      const std::string& sign = tokens_[i].text;
      const bool adds = sign == "+" || sign == "-", changes = sign == "+=" || sign == "-=";
      if (!adds && !changes) continue;
      if (is_call_of("begin", i)) continue;  // of a container: an iterator to the operand at a position
      if ((ends_at(i) && adds) || begins_at(i + 1)) lines.push_back(tokens_[i].line);
    }
    return lines;
  }

 private:
  const std::string& at(std::size_t i) const {
    static const std::string none;
    return i < tokens_.size() ? tokens_[i].text : none;
  }
  // Whether the name at i, of a member where that is so, is a count or a position by itself, or where it is called.
  bool is_slot(std::size_t i, bool called) const {
    static const std::set<std::string> counts = {"states", "sequences", "invariants"}, members = {"each", "stacks"},
                                       positions = {"each_begin", "invariant_begin", "invariant", "next_state", "stack_output"};
    std::string name = at(i);
    const bool member = i > 0 && (at(i - 1) == "." || at(i - 1) == "->");
    if (called) return positions.count(name) != 0;
    if (name.size() > 1 && name.back() == '_') name.pop_back();
    return counts.count(name) != 0 || (member && members.count(name) != 0);
  }
  // The partner of a bracket, in steps of `by`.
  std::size_t partner(std::size_t i, std::size_t by, const std::string& open, const std::string& close) const {
    for (int depth = 0; i < tokens_.size(); i += by) {
      depth += at(i) == open, depth -= at(i) == close;
      if (depth == 0) return i;
    }
    return tokens_.size();
  }
  static constexpr std::size_t kBack = static_cast<std::size_t>(-1);
  // Whether what ends before token i is a call of this function.
  bool is_call_of(const std::string& name, std::size_t i) const {
    const std::size_t open = at(i - 1) == ")" ? partner(i - 1, kBack, ")", "(") : 0;
    return open > 0 && at(open - 1) == name;
  }
  // Whether an operand that is a slot ends before token i.
  bool ends_at(std::size_t i) const {
    if (i == 0) return false;
    if (at(i - 1) != ")") return is_slot(i - 1, false);
    const std::size_t open = partner(i - 1, kBack, ")", "(");
    if (open == 0 || open >= tokens_.size()) return ends_at(i - 1);
    const bool called = tokens_[open - 1].is_word() && at(open - 1) != "return";
    return called ? is_slot(open - 1, true) : ends_at(i - 1);  // else parentheses, or a cast
  }
  // Whether an operand that is a slot begins at token i.
  bool begins_at(std::size_t i) const {
    while (at(i) == "(" || at(i) == "*" || at(i) == "&") ++i;
    if (at(i) == "static_cast") {
      while (i < tokens_.size() && at(i) != "(") ++i;
      return begins_at(i + 1);
    }
    for (std::size_t name = i; i < tokens_.size() && tokens_[i].is_word(); name = i) {
      bool called = false, indexed = false;
      ++i;
      while (at(i) == "(" || at(i) == "[") {
        called |= at(i) == "(", indexed |= at(i) == "[";
        i = partner(i, 1, at(i), at(i) == "(" ? ")" : "]") + 1;
      }
      if (at(i) != "." && at(i) != "->" && at(i) != "::") return !indexed && is_slot(name, called);
      ++i;
    }
    return false;
  }

  const std::vector<Token> tokens_;
};

}  // namespace

std::vector<int> slot_arithmetic(const std::string& text) { return SlotOperands(tokens_of(code_of(text))).lines(); }

std::vector<std::string> find_cycle(const Tree& tree) {
  enum class Mark { kOpen, kDone };
  std::map<std::string, Mark> marks;
  std::vector<std::string> path, cycle;
  const std::function<bool(const std::string&)> visit = [&](const std::string& name) {
    const auto source = tree.find(name);
    if (source == tree.end()) return false;
    path.push_back(name);
    if (const auto [mark, fresh] = marks.emplace(name, Mark::kOpen); !fresh) {
      if (mark->second == Mark::kOpen) {
        cycle.assign(std::find(path.begin(), path.end(), name), path.end());
        return true;
      }
    } else {
      for (const Include& include : source->second.includes)
        if (include.quoted && include.path != name && visit(include.path)) return true;
      marks[name] = Mark::kDone;
    }
    path.pop_back();
    return false;
  };
  for (const auto& [name, source] : tree)
    if (visit(name)) return cycle;
  return {};
}

std::vector<std::string> types_defined(const std::string& text) {
  static const std::regex comment(R"(//[^\n]*)");
  // struct Name {, class Name final : public Other {; no declarations, and no definitions of another class's members.
  static const std::regex type(
      R"((\benum\s+)?\b(?:struct|class)\s+(?:[A-Z_]{4,}\s+|alignas\([^)]*\)\s+)?(\w+)(?:\s+final)?\s*(?::[^:;{][^;{]*)?\{)");
  static const std::regex enumeration(R"((?:^|\n)enum\s+(?:class\s+|struct\s+)?(\w+))");
  const std::string code = std::regex_replace(text, comment, "");
  std::vector<std::string> names;
  for (std::sregex_iterator at(code.begin(), code.end(), type), end; at != end; ++at) {
    if (!(*at)[1].matched) names.push_back((*at)[2]);
  }
  for (std::sregex_iterator at(code.begin(), code.end(), enumeration), end; at != end; ++at) names.push_back((*at)[1]);
  return names;
}

std::map<std::string, std::vector<std::string>> types_defined_twice(
    const std::map<std::string, std::vector<std::string>>& types) {
  constexpr std::string_view kEmulation = "_emulation.cc";
  std::map<std::string, std::vector<std::string>> sources;
  for (const auto& [path, names] : types) {
    for (const std::string& name : names) {
      if (path.ends_with(kEmulation)) {
        const auto other = types.find(path.substr(0, path.size() - kEmulation.size()) + ".cu");
        if (other != types.end() && std::count(other->second.begin(), other->second.end(), name) != 0) continue;
      }
      sources[name].push_back(path);
    }
  }
  std::erase_if(sources, [](const auto& named) { return named.second.size() < 2; });
  return sources;
}

}  // namespace graphrun::architecture
