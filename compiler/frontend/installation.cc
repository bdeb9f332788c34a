#include "compiler/frontend/installation.h"

#include <filesystem>

#include "runtime/base/module.h"

namespace graphrun::frontend {

namespace fs = std::filesystem;

std::string installed_graphs() {
  const fs::path sources = GRAPHRUN_SOURCE_DIR "/graphs";
  const fs::path folder = library_folder();
  std::error_code error;
  if (folder.empty() || fs::equivalent(folder, GRAPHRUN_BINARY_DIR, error)) return sources;
  return (folder / GRAPHRUN_GRAPHS_FROM_LIBRARY).lexically_normal();
}

std::string installed_projects() {
  const std::string graphs = installed_graphs();
  return graphs == GRAPHRUN_SOURCE_DIR "/graphs" ? GRAPHRUN_SOURCE_DIR "/tools/new"
                                                 : (fs::path(graphs).parent_path() / "new").string();
}

}  // namespace graphrun::frontend
