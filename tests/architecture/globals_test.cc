// Mutable state outside of objects is only in a few files, each for the reason given here.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/architecture/source_text.h"

namespace graphrun::architecture {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GRAPHRUN_SOURCE_DIR;

// Files that may hold mutable globals or statics, and why.
const std::map<std::string, std::string> kAllowed = {
    {"compiler/ir/equation.cc", "equations of gradient rules, parsed once"},
    {"compiler/ir/op.cc", "the registry of operators"},
    {"compiler/frontend/source.cc", "the unsaved texts of an editor, and which files are read for it"},
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

// Without the arguments of templates.
std::string without_template_arguments(const std::string& text) {
  std::string left;
  int depth = 0;
  for (const char c : text) {
    depth -= c == '>' && depth > 0;
    if (depth == 0 && c != '<' && (c != '>' || left.empty() || left.back() == '-')) left += c;
    depth += c == '<';
  }
  return left;
}

// Whether "a, b" in "T x(a, b)" are parameters, of a function, and not the arguments of a variable's constructor.
bool are_parameters(const std::string& list) {
  static const std::regex parameter(
      R"(\s*(const )?[\w:]+([&*]|( const)?[&*]* \w+|\.\.\.).*|\s*(const )?([A-Z]\w*|[\w:]*::\w+|int|float|double|bool|char|void)\s*|\s*)");
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    if (!std::regex_match(part.substr(0, part.find('=')), parameter)) return false;
  }
  return true;
}

// Whether a variable of this type, "const char*", neither changes nor refers to something that does. "auto" is what it says.
bool is_constant(const std::string& type) {
  static const std::regex constant(R"(\bconst\b)"), always(R"(\b(constexpr|consteval)\b)");
  if (std::regex_search(type, always)) return true;
  const std::size_t last = type.find_last_of("*&");
  const std::string pointee = type.substr(0, last == std::string::npos ? 0 : last),
                    own = type.substr(last == std::string::npos ? 0 : last);
  if (last == std::string::npos) return std::regex_search(own, constant);
  return std::regex_search(pointee, constant) && (type[last] == '&' || std::regex_search(own, constant));
}

// What a source defines as mutable state outside of objects: `static` or `thread_local` variables, and those in the first
// column, whose type is not constant.
std::vector<std::string> mutable_globals(const std::string& text) {
  static const std::regex is_static(R"(^\s*(\[\[[^\]]*\]\] |inline |extern |constinit )*(static|thread_local) .*)");
  static const std::regex is_other(
      R"(^(using|return|namespace|struct|class|enum|union|typedef|template|friend|throw|case|goto|delete|break|else|public|private|default)\b.*)");
  static const std::regex keywords(R"(\[\[[^\]]*\]\]|\b(inline|constinit|static|thread_local|volatile)\b)");
  static const std::regex declaration(R"(^\s*(\S.*[\w&*] *)\b([\w:]+)\s*$)");
  static const std::regex elsewhere(R"(\b(extern|operator)\b)");  // declared alone, or a function
  std::vector<std::string> lines, found;
  std::istringstream in(code_of(text));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool local = std::regex_match(lines[i], is_static);
    const bool global = !lines[i].empty() && (std::isalpha(static_cast<unsigned char>(lines[i][0])) != 0) &&
                        !std::regex_match(lines[i], is_other);
    if (!local && !global) continue;
    std::string statement = lines[i];
    for (std::size_t k = i + 1; k < lines.size() && statement.find_first_of(";{}") == std::string::npos; ++k)
      statement += lines[k];
    statement = without_template_arguments(std::regex_replace(statement, keywords, ""));
    const std::size_t end = statement.find_first_of("=;{([,");
    if (end == std::string::npos) continue;
    const std::string head = statement.substr(0, end);
    std::smatch parts;
    if (std::regex_search(head, elsewhere) || !std::regex_match(head, parts, declaration)) continue;
    if (statement[end] == '(') {
      const std::size_t close = statement.find(')', end),
                        after = close == std::string::npos ? close : statement.find_first_not_of(" )", close);
      if (after == std::string::npos || statement[after] != ';' || are_parameters(statement.substr(end + 1, close - end - 1)))
        continue;
    }
    if (!is_constant(parts[1])) found.push_back(lines[i]);
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
  for (const char* text :
       {"static int count = 0;", "  static std::map<int, int> known;", "thread_local Cores cores;",
        "  static Table* const table = new Table;", "bool backwards = false;", "Backend* opened = nullptr;",
        "inline thread_local Writer* writer = nullptr;", "static std::atomic<int> count{0};",
        "constinit thread_local Place place;",
        // A pointer that changes, to what does not.
        "static const char* name = \"x\";", "const char* name;", "  static const Table* table = find<const Table>();",
        // Constructed by arguments.
        "static std::mt19937 engine(42);", "  static std::string name(other);", "std::vector<int> all(4, 0);",
        "  static std::mt19937 engine(seed + 1);", "static std::mt19937 engine(seed());",
        // Arrays.
        "static int counts[3];", "int counts[3] = {};", "static const char* names[] = {\"x\", \"y\"};",
        "std::array<int, 3> counts;",
        // Constant is only what it holds.
        "static std::vector<const Pass*> passes;", "std::atomic<const Pass*> pass;",
        // A reference to what changes.
        "  static Opened& opened = *new Opened;",
        // Broken across lines.
        "static std::map<std::string,\n                std::vector<int>>\n    known;",
        "std::map<int, int> known = {\n    {1, 2},\n};"}) {
    EXPECT_EQ(mutable_globals(text).size(), 1u) << text;
  }
  for (const char* text : {"  static const std::regex pattern(\"x\");",
                           "  static constexpr int kSize = 4;",
                           "static int twice(int x) { return 2 * x; }",
                           "  static OpRegistry& instance();",
                           "using std::string;",
                           "static_assert(sizeof(int) == 4);",
                           "extern int count;",
                           "[[gnu::x]] extern thread_local Place place;",
                           "constexpr int kMost = 3;",
                           "const fs::path kRoot = \".\";",
                           "int twice(int x);",
                           "  int count = 0;",
                           "return x;",
                           "namespace fs = std::filesystem;",
                           "static const char* const name = \"x\";",
                           "constexpr const char* kName = \"x\";",
                           "static const std::array<int, 3> counts = {1, 2, 3};",
                           "static const char* const names[] = {\"x\"};",
                           "  static const Device& device = open();",
                           "static Share share_of(std::int64_t size, int thread,\n                      int threads = 1);",
                           "  static Kernel bind(const KernelRequest&);",
                           "static void none();",
                           "Tensor::Tensor(int x) : x_(x) {",
                           "REGISTER_OP(\"x\", \"y\")",
                           "const auto kText = R\"(\nstatic int x = 0;\nint count = 0;\n)\";",
                           "// static int x = 0;",
                           "/*\nint count;\n*/",
                           "bool operator==(const A& a, const A& b);",
                           "std::vector<int> all() { return {}; }",
                           "static std::vector<int> all(std::size_t, int);",
                           "  static T find(const std::map<int, T>& all, const T& otherwise);",
                           "std::function<void(int)> made(int x) {\n}"}) {
    EXPECT_TRUE(mutable_globals(text).empty()) << text;
  }
}

}  // namespace
}  // namespace graphrun::architecture
