// Mutable state outside of objects stands in a few files, each for a reason that is given here.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace graphrun::architecture {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GRAPHRUN_SOURCE_DIR;

// Files that may hold mutable globals or statics, and why.
const std::map<std::string, std::string> kAllowed = {
    {"compiler/ir/equation.cc", "equations of gradient rules, parsed once"},
    {"compiler/ir/op.cc", "the registry of operators"},
    {"compiler/plugin/graphviz.cc", "Graphviz's own globals, and a lock for them"},
    {"ops/library/device_library.cu", "the registry of CUDA's kernels"},
    {"ops/tiles/machine_code.cc", "machine code that was written, for the whole program"},
    {"runtime/base/file.cc", "a counter that makes temporary names distinct"},
    {"runtime/base/shape.cc", "the table of symbols"},
    {"runtime/base/status.cc", "the table of source locations"},
    {"runtime/cuda/blas.cu", "cuBLAS's handles"},
    {"runtime/cuda/emulation.cc", "the emulated device: its blocks and recorded work"},
    {"runtime/cuda/generated.cu", "kernels that were compiled, for the whole program"},
    {"runtime/cuda/generated_emulation.cc", "the same on the emulated device"},
    {"runtime/cuda/nvrtc.cu", "why NVRTC could not be loaded"},
    {"runtime/device/cuda_library.cc", "CUDA's library, and the devices that were opened"},
    {"runtime/execute/profiler.cc", "numbers of threads in traces"},
    {"runtime/program/kernel.cc", "the registry of the CPU's kernels"},
    {"runtime/tensor/tensor.cc", "the counter of tensors' versions"},
    {"runtime/threads/cores.cc", "the cores of a thread's parallel regions"},
    {"runtime/threads/threads.cc", "the number of threads"},
    {"tools/cli/program.cc", "the program's name, for messages when memory is exhausted"},
};

// The lines of a source that define mutable state outside of objects: `static` or `thread_local` without const, and variables
// in the first column.
std::vector<std::string> mutable_globals(const std::string& text) {
  static const std::regex is_static(R"(^\s*(inline |extern )?(static|thread_local) .*)");
  static const std::regex is_constant(R"(.*\b(const|constexpr|static_assert|static_cast)\b.*)");
  static const std::regex is_function(R"(^\s*static [^={]*\w\(.*)");
  static const std::regex is_variable(R"(^(inline )?[A-Za-z_][\w:<>, *&]* \**\w+( = .*|\{.*\})?;.*)");
  static const std::regex is_other(
      R"(^(using|return|namespace|extern|struct|class|enum|typedef|template|friend|throw|case|goto|delete|break|public|private)\b.*)");
  // The pointer is constant; what it points to is not.
  static const std::regex is_pointer(R"(^\s*static (?!const )[\w:<>]+\* const \w+ = .*)");
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool constant = std::regex_match(line, is_constant) && !std::regex_match(line, is_pointer);
    const bool local = std::regex_match(line, is_static) && !std::regex_match(line, is_function);
    const bool global = std::regex_match(line, is_variable) && !std::regex_match(line, is_other);
    if ((local || global) && !constant) found.push_back(line);
  }
  return found;
}

TEST(Globals, AreMutableInAFewFilesAlone) {
  std::map<std::string, std::vector<std::string>> found;
  for (const std::string folder : {"runtime", "ops", "compiler", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".cc" && ending != ".h" && ending != ".cu") continue;
      std::ifstream file(entry.path());
      std::stringstream text;
      text << file.rdbuf();
      std::vector<std::string> lines = mutable_globals(text.str());
      if (!lines.empty()) found[entry.path().lexically_relative(kRoot).generic_string()] = std::move(lines);
    }
  }
  for (const auto& [path, lines] : found) {
    EXPECT_TRUE(kAllowed.count(path) != 0) << path << " holds mutable state outside of objects: " << lines.front()
                                           << "\n  make it a member, or say here why it must be global";
  }
  for (const auto& [path, why] : kAllowed)
    EXPECT_TRUE(found.count(path) != 0) << path << " may have mutable globals but has none";
}

TEST(GlobalsChecks, MutableGlobalsAreFound) {
  for (const char* line : {"static int count = 0;", "  static std::map<int, int> known;", "thread_local Cores cores;",
                           "  static Table* const table = new Table;", "bool backwards = false;", "Backend* opened = nullptr;",
                           "inline thread_local Writer* writer = nullptr;", "static std::atomic<int> count{0};"}) {
    EXPECT_EQ(mutable_globals(line).size(), 1u) << line;
  }
  for (const char* line :
       {"  static const std::regex pattern(\"x\");", "  static constexpr int kSize = 4;",
        "static int twice(int x) { return 2 * x; }", "  static OpRegistry& instance();", "using std::string;",
        "static_assert(sizeof(int) == 4);", "constexpr int kMost = 3;", "const fs::path kRoot = \".\";", "int twice(int x);",
        "  int count = 0;", "return x;", "namespace fs = std::filesystem;"}) {
    EXPECT_TRUE(mutable_globals(line).empty()) << line;
  }
}

}  // namespace
}  // namespace graphrun::architecture
