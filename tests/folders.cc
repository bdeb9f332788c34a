#include "tests/folders.h"

#include <cstdlib>

namespace graphrun::tests {
namespace {

std::string named(const char* variable, const char* otherwise) {
  const char* const given = std::getenv(variable);
  return given != nullptr && *given != '\0' ? given : otherwise;
}

}  // namespace

std::string source_folder() { return named("GRAPHRUN_TREE", GRAPHRUN_SOURCE_DIR); }
std::string build_folder() { return named("GRAPHRUN_BUILD", GRAPHRUN_BINARY_DIR); }
std::string reference(const std::string& name) { return source_folder() + "/tests/reference/" + name; }

}  // namespace graphrun::tests
