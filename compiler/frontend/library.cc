#include "compiler/frontend/library.h"

#include <algorithm>
#include <filesystem>

#include "graphs/graph.pb.h"

namespace graphrun::frontend {
namespace {

constexpr std::size_t kMostFiles = 1000;

void imports_of(const Definition& d, std::vector<const ir::Expression*>& out) {
  const auto graphs = [&](const ir::Expression& e, auto& self) -> void {
    if (e.kind == ir::Expression::Kind::kGraph) out.push_back(&e);
    for (const auto& [name, value, name_at] : e.keywords) self(value, self);
  };
  for (const ImportDef& i : d.imports) graphs(i.value, graphs);
  for (const InstanceDef& i : d.instances) {
    graphs(i.graph, graphs);
    for (const ir::Binding& b : i.args) graphs(b.value, graphs);
  }
  for (const auto& g : d.graphs) imports_of(*g, out);
}

// An unread declaration may be the consequence of another mistake in the file: a misspelled name, a missing line. Then it is
// not reported until that is fixed. The warnings about unread equations, args and calls are dropped only if a text could not be
// parsed.
void drop_unread(std::vector<Diagnostic>& diagnostics, std::size_t from) {
  const auto begin = diagnostics.begin() + static_cast<std::ptrdiff_t>(from);
  const auto drop = [&](const char* code) {
    const auto is_of = [&](const Diagnostic& d) { return d.code.starts_with(code); };
    diagnostics.erase(std::remove_if(begin, diagnostics.end(), is_of), diagnostics.end());
  };
  const auto mistake = [&](const Diagnostic& d) { return d.severity == Severity::kError; };
  if (std::none_of(begin, diagnostics.end(), mistake)) return;
  if (std::any_of(begin, diagnostics.end(), is_syntax_error)) drop("E0209");
  drop("E0208");
}

}  // namespace

Library::Library(const GraphRequest& request, std::vector<Diagnostic>& diagnostics)
    : paths_(request), diagnostics_(diagnostics) {
  if (!request.job.empty()) namers_[intern_file(request.job)] = {Namer::Kind::kFile, request.job, ""};
}

Namer Library::namer(const Location& from) const {
  if (from.file == nullptr) return {};
  const auto it = namers_.find(from.file);
  return it != namers_.end() ? it->second : Namer{Namer::Kind::kCommandLine, "", ""};
}

const Definition* Library::load(const std::string& path, const Location& from) { return load(path, namer(from), from); }

const Definition* Library::load(const std::string& path, const Namer& by, const Location& from) {
  const auto fail = [&](std::string code, std::string text, std::vector<std::string> notes = {}) {
    diagnostics_.push_back({Severity::kError, std::move(code), from, std::move(text), std::move(notes)});
    return nullptr;
  };
  GraphPaths::Found found;
  try {
    found = paths_.find(path, by);
  } catch (const UserError& error) {
    if (error.exit_code() == ExitCode::kNoRoom) throw;
    const Diagnostic& why = error.diagnostics().front();
    return fail(why.code, why.text, why.notes);
  }
  if (!found.outside.empty()) {
    return fail(
        "E0220 outside", "'" + path + "' leaves the folder " + found.outside,
        {"help: paths of graphs start in the folder of the file that names them or in a graphs folder, and must not leave it"});
  }
  if (found.file.empty()) {
    std::string all;
    for (const std::string& file : found.looked_for) all += (all.empty() ? "" : ", ") + file;
    std::vector<std::string> notes = {"note: looked for " + all};
    if (const std::string hint = paths_.hint(path, by); !hint.empty()) notes.push_back("help: " + hint);
    return fail("E0221 no-file", "no graph '" + path + "'", std::move(notes));
  }
  const auto it = entries_.find(found.file);
  const std::string kept = it != entries_.end() ? it->second.kept : unlike_others(paths_.kept(found.file, path, by));
  if (!means(by, path, kept)) {
    return fail("E0249 two-graphs", "'" + path + "' is one graph in the job and another on the command line",
                {"note: here it is " + found.shown, "help: give the latter by another path: ./" + path});
  }
  if (it == entries_.end()) {
    if (entries_.size() >= kMostFiles) return fail("E0219 too-many", "more than " + std::to_string(kMostFiles) + " files");
    return read(found.file, found.shown, kept);
  }
  if (it->second.loading) {
    std::string cycle;
    for (auto c = std::find(chain_.begin(), chain_.end(), kept); c != chain_.end(); ++c) cycle += *c + " -> ";
    return fail("E0218 import-cycle", "imports form a cycle: " + cycle + kept);
  }
  return it->second.definition.get();
}

// Files from different folders with the same path get different names: cells/atr.pbtxt, cells/atr-2.pbtxt.
std::string Library::unlike_others(const std::string& kept) const {
  const auto taken = [&](const std::string& path) {
    return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.second.kept == path; });
  };
  const std::filesystem::path path(kept);
  std::string free = kept;
  for (int number = 2; taken(free); ++number) {
    const std::string name = path.stem().string() + "-" + std::to_string(number) + path.extension().string();
    free = (path.parent_path() / name).generic_string();
  }
  return free;
}

// Records the meaning of a path. Returns false if the job uses the path for another graph.
bool Library::means(const Namer& by, const std::string& path, const std::string& kept) {
  return meanings_[by.kept].emplace(path, kept).first->second == kept;
}

const Definition* Library::load_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, error);
  const std::string file = error ? path : canonical.string();
  if (const auto it = entries_.find(file); it != entries_.end()) return it->second.definition.get();
  return read(file, path, unlike_others(paths_.kept(file, path, {Namer::Kind::kCommandLine, "", ""})));
}

const Definition* Library::read(const std::string& file, const std::string& shown, const std::string& kept) {
  Entry& entry = entries_[file];
  entry.kept = kept;
  entry.loading = true;
  chain_.push_back(kept);
  const std::size_t before = diagnostics_.size();
  try {
    std::string text = read_source(shown);
    if (const std::string kind = declared_message(text); !kind.empty() && kind != "graphrun.Graph") {
      throw UserError(ExitCode::kInvalidGraph, "E0222 no-graph",
                      shown + ": declares itself a " + kind + ", not a graphrun.Graph");
    }
    const std::string* name = intern_file(shown);
    namers_[name] = {Namer::Kind::kFile, shown, kept};
    graphrun::Graph message;
    Places places = parse_source(text, name, &message, &diagnostics_);
    const std::size_t read = diagnostics_.size();
    entry.text = std::move(text);
    auto definition = read_definition(message, places, kept, diagnostics_);
    // A line that cannot be parsed leaves names undeclared; mistakes reported about those would not be the user's.
    definition->readable =
        std::none_of(diagnostics_.begin() + static_cast<std::ptrdiff_t>(read), diagnostics_.end(), is_syntax_error);
    if (definition->readable) resolve_names(*definition, diagnostics_);
    drop_unread(diagnostics_, before);
    std::vector<const ir::Expression*> imports;
    imports_of(*definition, imports);
    for (const ir::Expression* e : imports) load(e->text, e->at);
    entry.definition = std::move(definition);
  } catch (const UserError& e) {
    if (e.exit_code() == ExitCode::kNoRoom) throw;  // not a mistake in the file
    diagnostics_.insert(diagnostics_.end(), e.diagnostics().begin(), e.diagnostics().end());
  }
  chain_.pop_back();
  entry.loading = false;
  return entry.definition.get();
}

GraphSources Library::sources() const {
  GraphSources out;
  for (const auto& [file, entry] : entries_) out.files.push_back({entry.kept, entry.text});
  std::sort(out.files.begin(), out.files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  for (const auto& [by, paths] : meanings_) {
    for (const auto& [path, kept] : paths) {
      if (path != kept) out.meanings[by][path] = kept;
    }
  }
  return out;
}

}  // namespace graphrun::frontend
