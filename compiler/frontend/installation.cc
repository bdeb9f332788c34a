#include "compiler/frontend/installation.h"

#include <dlfcn.h>

#include <filesystem>

namespace graphrun::frontend {

namespace fs = std::filesystem;

std::string installed_graphs() {
  const fs::path sources = GRAPHRUN_SOURCE_DIR "/graphs";
  Dl_info library;
  if (dladdr(reinterpret_cast<const void*>(&installed_graphs), &library) == 0 || library.dli_fname == nullptr) return sources;
  std::error_code error;
  const fs::path folder = fs::canonical(library.dli_fname, error).parent_path();
  if (error || fs::equivalent(folder, GRAPHRUN_BINARY_DIR, error)) return sources;
  return (folder / GRAPHRUN_GRAPHS_FROM_LIBRARY).lexically_normal();
}

}  // namespace graphrun::frontend
