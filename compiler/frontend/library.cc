#include "compiler/frontend/library.h"

#include <algorithm>
#include <filesystem>

#include "compiler/frontend/installation.h"
#include "graphs/graph.pb.h"
#include "runtime/suggestion.h"

namespace graphrun::frontend {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 1000;

void imports_of(const Definition& d, std::vector<const ir::Expression*>& out) {
  const auto graphs = [&](const ir::Expression& e, auto& self) -> void {
    if (e.kind == ir::Expression::Kind::kGraph) out.push_back(&e);
    for (const auto& [name, value] : e.keywords) self(value, self);
  };
  for (const ImportDef& i : d.imports) graphs(i.value, graphs);
  for (const InstanceDef& i : d.instances) {
    graphs(i.graph, graphs);
    for (const ir::Binding& b : i.args) graphs(b.value, graphs);
  }
  for (const auto& g : d.graphs) imports_of(*g, out);
}

// What nothing reads may be so because of another mistake of the file: a misspelt name, a line that is missing. Then it goes
// unsaid until that is mended.
void drop_unread(std::vector<Diagnostic>& diagnostics, std::size_t from) {
  const auto begin = diagnostics.begin() + static_cast<std::ptrdiff_t>(from);
  const auto unread = [](const Diagnostic& d) { return d.code.rfind("E0208", 0) == 0; };
  const auto mistake = [&](const Diagnostic& d) { return d.severity == Severity::kError; };
  if (std::any_of(begin, diagnostics.end(), mistake)) {
    diagnostics.erase(std::remove_if(begin, diagnostics.end(), unread), diagnostics.end());
  }
}

// Of the files that there are: those of that name in other folders first, then those of like paths.
std::string file_meant(const std::string& path, const std::vector<std::string>& known) {
  std::vector<std::string> meant;
  for (const std::string& file : known)
    if (fs::path(file).filename() == fs::path(path).filename()) meant.push_back(file);
  std::sort(meant.begin(), meant.end());
  for (const std::string& file : near_names(path, known))
    if (std::find(meant.begin(), meant.end(), file) == meant.end()) meant.push_back(file);
  return suggestion(meant);
}

}  // namespace

const Definition* Library::load(const std::string& path, const Location& from) {
  const auto fail = [&](std::string code, std::string text, std::vector<std::string> notes = {}) {
    diagnostics_.push_back({Severity::kError, std::move(code), from, std::move(text), std::move(notes)});
    return nullptr;
  };
  if (const auto it = entries_.find(path); it != entries_.end()) {
    if (it->second.loading) {
      std::string cycle;
      for (auto c = std::find(chain_.begin(), chain_.end(), path); c != chain_.end(); ++c) cycle += *c + " -> ";
      return fail("E0218 import-cycle", "imports form a cycle: " + cycle + path);
    }
    return it->second.definition.get();
  }
  if (entries_.size() >= kMostFiles) return fail("E0219 too-many", "more than " + std::to_string(kMostFiles) + " files");
  std::error_code error;
  const fs::path relative(path);
  const fs::path root = fs::weakly_canonical(root_, error);
  const fs::path file = fs::weakly_canonical(root / relative, error);
  const auto inside = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (relative.is_absolute() || error || inside.first != root.end()) {
    return fail("E0220 outside", "'" + path + "' leaves the folder " + root_,
                {"help: paths of graphs start at the folder graphs and stay in it"});
  }
  if (!fs::is_regular_file(file, error)) {
    std::vector<std::string> known;
    for (fs::recursive_directory_iterator i(root, error), end; !error && i != end && known.size() < 2000; i.increment(error)) {
      if (i->path().extension() == ".pbtxt") known.push_back(fs::relative(i->path(), root, error).generic_string());
    }
    const std::string hint = file_meant(path, known);
    return fail("E0221 no-file", "no graph '" + path + "' in " + root_,
                hint.empty() ? std::vector<std::string>{} : std::vector<std::string>{"help: " + hint});
  }
  chain_.push_back(path);
  const Definition* d = read(file.string(), path);
  chain_.pop_back();
  return d;
}

bool Library::holds(const std::string& path) const {
  std::error_code error;
  const fs::path root = fs::weakly_canonical(root_, error);
  const fs::path file = fs::weakly_canonical(root / path, error);
  const auto inside = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  return inside.first == root.end() && fs::is_regular_file(file, error);
}

const Definition* Library::load_file(const std::string& path) {
  std::error_code error;
  const fs::path root = fs::weakly_canonical(root_, error);
  const fs::path file = fs::weakly_canonical(path, error);
  const auto inside = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  // A file of the folder goes by its path from there, so that importing it again finds it.
  const bool within = inside.first == root.end() && fs::is_regular_file(file, error);
  const std::string shown = within ? file.lexically_relative(root).generic_string() : path;
  if (const auto it = entries_.find(shown); it != entries_.end()) return it->second.definition.get();
  chain_.push_back(shown);
  const Definition* d = read(path, shown);
  chain_.pop_back();
  return d;
}

const Definition* Library::read(const std::string& file, const std::string& shown) {
  entries_[shown].loading = true;
  const std::size_t before = diagnostics_.size();
  try {
    std::string text = read_source(file);
    if (const std::string kind = declared_message(text); !kind.empty() && kind != "graphrun.Graph") {
      throw UserError(ExitCode::kInvalidGraph, "E0222 no-graph",
                      file + ": says of itself that it is a " + kind + ", not a graphrun.Graph");
    }
    // Files of the folder are shown as the user finds them: from where the command line's paths start.
    const std::string* name =
        intern_file(file.rfind(root_, 0) == 0 || shown == file ? file : (fs::path(root_) / shown).lexically_normal().string());
    Graph message;
    Places places = parse_source(text, name, &message);
    entries_[shown].text = std::move(text);
    auto definition = read_definition(message, places, shown, diagnostics_);
    // A line that can't be read leaves names undeclared: what would be said of those is no mistake of the user's.
    const bool readable = std::none_of(diagnostics_.begin() + static_cast<std::ptrdiff_t>(before), diagnostics_.end(),
                                       [](const Diagnostic& d) { return d.code.rfind("E01", 0) == 0; });
    if (readable) resolve_names(*definition, diagnostics_);
    drop_unread(diagnostics_, before);
    std::vector<const ir::Expression*> imports;
    imports_of(*definition, imports);
    for (const ir::Expression* e : imports) load(e->text, e->at);
    entries_[shown].definition = std::move(definition);
  } catch (const UserError& e) {
    diagnostics_.insert(diagnostics_.end(), e.diagnostics().begin(), e.diagnostics().end());
  }
  entries_[shown].loading = false;
  return entries_[shown].definition.get();
}

std::vector<SourceFile> Library::files() const {
  std::vector<SourceFile> out;
  for (const auto& [path, entry] : entries_) {
    const bool outside = fs::path(path).is_absolute() || path.rfind("..", 0) == 0;
    out.push_back({outside ? fs::path(path).filename().string() : path, entry.text});
  }
  return out;
}

std::string find_graphs_root(const std::string& file, const std::string& given) {
  if (!given.empty()) return given;
  std::error_code error;
  fs::path at = fs::absolute(file, error).lexically_normal().parent_path();
  fs::path shown = fs::path(file).parent_path();
  // As a user would write it: "graphs", not "graphs/jobs/..".
  const auto plain = [](const fs::path& path) {
    std::string text = path.lexically_normal().string();
    if (text.size() > 1 && text.back() == '/') text.pop_back();
    return text.empty() ? "." : text;
  };
  // Up from the file: a folder called graphs, or one that holds one.
  while (true) {
    if (at.filename() == "graphs") return plain(shown);
    if (fs::is_directory(at / "graphs" / "cells", error)) return plain(shown / "graphs");
    if (!at.has_relative_path()) break;
    at = at.parent_path();
    shown /= "..";
  }
  return installed_graphs();
}

}  // namespace graphrun::frontend
