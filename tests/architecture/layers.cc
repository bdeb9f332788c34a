#include "tests/architecture/layers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>

namespace graphrun::architecture {
namespace {

// Each includes itself and those before it.
constexpr std::array<const char*, 10> kRuntimeFolders = {
    "runtime/base/",   "runtime/tensor/",  "runtime/program/",      "runtime/threads/", "runtime/scan/",
    "runtime/device/", "runtime/execute/", "runtime/communicator/", "runtime/cuda/",    "runtime/mpi/"};

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

}  // namespace

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
    if (own == kRuntimeFolders.size()) return "it is in none of the runtime's folders";
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

}  // namespace graphrun::architecture
