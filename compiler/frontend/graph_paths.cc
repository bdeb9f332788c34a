#include "compiler/frontend/graph_paths.h"

#include <algorithm>
#include <filesystem>

#include "compiler/frontend/installation.h"
#include "compiler/frontend/source.h"
#include "runtime/base/file.h"
#include "runtime/base/suggestion.h"

namespace graphrun::frontend {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostKnown = 2000;  // paths to compare with a misspelled one

// In the form that a user would write: "graphs", not "graphs/jobs/..".
std::string plain(const fs::path& path) {
  std::string text = path.lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text.empty() ? "." : text;
}

fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  const fs::path canonical = fs::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal() : canonical;
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

// Whether the path leads out of the folder that it starts from.
bool leaves(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return path.is_absolute() || (!normal.empty() && *normal.begin() == "..");
}

// A job may have the name of its graph and be next to it, or next to another job that names that graph. Throws UserError if
// this cannot be determined.
bool says_it_is_no_graph(const std::string& file) {
  const std::string kind = declared_message(read_source(file));
  return !kind.empty() && kind != "graphrun.Graph";
}

// Throws if a folder cannot be read: treating it as empty would find a different graph.
void check_read(const fs::path& folder, std::error_code error) {
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    unreadable_file(folder.string(), error.value());
}

bool has_graphs(const fs::path& folder, bool below = true) {
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    if (i->path().extension() == ".pbtxt") return true;
    if (below && i->is_directory(error) && has_graphs(i->path(), false)) return true;
  }
  if (error == std::errc::interrupted) return has_graphs(folder, below);
  check_read(folder, error);
  return false;
}

// Adds the path of each graph, relative to the folder; `deep`: including subfolders, which contain most of the graphs.
void add_known(const std::string& folder, bool deep, std::vector<std::string>& known) {
  std::error_code error;
  for (fs::recursive_directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    if (!deep) i.disable_recursion_pending();
    if (known.size() >= kMostKnown) return;
    if (i->path().extension() != ".pbtxt") continue;
    try {
      if (says_it_is_no_graph(i->path().string())) continue;
    } catch (const UserError&) {
      continue;  // nothing to suggest
    }
    known.push_back(i->path().lexically_relative(folder).generic_string());
  }
}

// Suggestions from the existing files: first those with that name in other folders, where the path may omit the extension; then
// those with similar paths.
std::string file_meant(const std::string& path, const std::vector<std::string>& known) {
  std::vector<std::string> meant;
  const std::string name = fs::path(path).filename().string();
  for (const std::string& file : known)
    if (fs::path(file).filename() == name || fs::path(file).filename() == name + ".pbtxt") meant.push_back(file);
  std::sort(meant.begin(), meant.end());
  meant.erase(std::unique(meant.begin(), meant.end()), meant.end());  // it may be both next to the job and in a graphs folder
  for (const std::string& file : near_names(path, known))
    if (std::find(meant.begin(), meant.end(), file) == meant.end()) meant.push_back(file);
  return suggestion(meant);
}

}  // namespace

GraphPaths::GraphPaths(const GraphRequest& request) : meanings_(request.kept), kept_files_(request.kept_files) {
  const std::string given = request.graphs_root;
  roots_.push_back(given.empty() ? find_graphs_root(request.job.empty() ? request.path : request.job) : given);
  const std::string shipped = installed_graphs();
  if (!meanings_ && resolved(shipped) != resolved(roots_.front())) roots_.push_back(shipped);
}

std::vector<GraphPaths::SearchedFolder> GraphPaths::places(const Namer& by) const {
  std::vector<SearchedFolder> out;
  if (by.kind == Namer::Kind::kCommandLine) out.push_back({".", false});
  if (by.kind == Namer::Kind::kFile) out.push_back({plain(fs::path(by.file).parent_path()), false});
  for (const std::string& root : roots_) {
    if (by.kind == Namer::Kind::kFile && !out.front().is_root && resolved(out.front().folder) == resolved(root)) out.clear();
    out.push_back({root, true});
  }
  return out;
}

GraphPaths::Found GraphPaths::find(const std::string& path, const Namer& by) const {
  if (meanings_) return find_kept(path, by);
  Found found, no_graph;
  const bool anywhere = by.kind == Namer::Kind::kCommandLine;
  if (!anywhere && leaves(path)) {
    found.outside = roots_.front();
    return found;
  }
  const fs::path itself = by.file.empty() ? fs::path() : resolved(by.file);
  for (const SearchedFolder& place : places(by)) {
    if (anywhere && place.is_root && leaves(path)) continue;
    const fs::path file = fs::path(place.folder) / path;
    found.shown = plain(file);
    if (found.looked_for.empty() || found.looked_for.back() != found.shown) found.looked_for.push_back(found.shown);
    found.file = resolved(file).string();
    if (!is_source_there(file.string()) || (!place.is_root && found.file == itself)) continue;
    if ((!anywhere || place.is_root) && !is_inside(found.file, resolved(place.folder))) {
      found.outside = place.folder;
      return found;
    }
    if (!says_it_is_no_graph(found.file)) return found;
    no_graph = found;
  }
  if (!no_graph.file.empty()) return no_graph;  // for a message that says what it is
  found.file.clear();
  return found;
}

// A model's folder contains everything that its network consists of, whatever exists elsewhere.
GraphPaths::Found GraphPaths::find_kept(const std::string& path, const Namer& by) const {
  Found found;
  std::string inside = path;
  if (const auto of = meanings_->find(by.kept); of != meanings_->end()) {
    if (const auto means = of->second.find(path); means != of->second.end()) inside = means->second;
  }
  // Older folders store what the command line named under the last part of its path, without recording it.
  if (leaves(inside) && by.kept.empty()) inside = fs::path(path).filename().string();
  const fs::path file = fs::path(roots_.front()) / inside;
  found.shown = plain(file);
  found.looked_for.push_back(found.shown);
  if (leaves(inside) || !is_inside(resolved(file), resolved(roots_.front()))) {
    found.outside = roots_.front();
  } else if (is_source_there(file.string()) && is_kept(file)) {
    found.file = resolved(file).string();
  }
  return found;
}

bool GraphPaths::is_kept(const std::filesystem::path& file) const {
  const fs::path root = fs::path(roots_.front()).lexically_normal();
  return kept_files_.count(file.lexically_normal().lexically_relative(root).generic_string()) != 0;
}

std::string GraphPaths::kept(const std::string& file, const std::string& path, const Namer& by) const {
  for (const std::string& root : roots_) {
    const fs::path folder = resolved(root);
    if (is_inside(file, folder)) return fs::path(file).lexically_relative(folder).generic_string();
  }
  if (leaves(path)) return fs::path(path).filename().string();
  return (fs::path(by.kept).parent_path() / path).lexically_normal().generic_string();
}

std::string GraphPaths::hint(const std::string& path, const Namer& by) const {
  return file_meant(path, meanings_ ? known_in(roots_.front(), true) : known(by));
}

std::vector<std::string> GraphPaths::known(const Namer& by) const {
  std::vector<std::string> known;
  for (const SearchedFolder& place : places(by)) {
    const std::vector<std::string>& there = known_in(place.folder, place.is_root);
    known.insert(known.end(), there.begin(), there.end());
  }
  return known;
}

const std::vector<std::string>& GraphPaths::known_in(const std::string& folder, bool deep) const {
  const auto [known, is_new] = known_.try_emplace({folder, deep});
  if (is_new) add_known(folder, deep, known->second);
  return known->second;
}

std::vector<std::string> GraphPaths::called(const std::string& name) const {
  std::vector<std::string> found;
  for (const std::string& root : roots_) {
    for (const std::string& path : known_in(root, true))
      if (fs::path(path).filename() == name + ".pbtxt") found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string find_graphs_root(const std::string& file) {
  std::error_code error;
  fs::path at = fs::absolute(file, error).lexically_normal().parent_path();
  fs::path shown = fs::path(file).parent_path();
  // Walk up from the file: look for a folder called graphs, or one that contains such a folder.
  while (true) {
    if (at.filename() == "graphs") return plain(shown);
    if (has_graphs(at / "graphs")) return plain(shown / "graphs");
    if (!at.has_relative_path()) break;
    at = at.parent_path();
    shown /= "..";
  }
  return installed_graphs();
}

}  // namespace graphrun::frontend
