// Generated kernels on the emulated device: compiled by the host's compiler. One call compiles all kernels not compiled yet,
// since a call takes longer than a kernel does.
#include <dlfcn.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include "runtime/base/code_cache.h"
#include "runtime/base/file.h"
#include "runtime/cuda/generated.h"

namespace graphrun::cuda {
namespace {

namespace fs = std::filesystem;

// Not optimized: kernels of tests take longer to compile than to run. No strict aliasing: packs of elements are read through
// other types than they were written through. If races are watched, those of generated kernels are too.
#if defined(__SANITIZE_THREAD__)
constexpr const char* kCompiler = "c++ -std=c++20 -O1 -g -fsanitize=thread -w -fno-strict-aliasing -fPIC";
#else
constexpr const char* kCompiler = "c++ -std=c++20 -O0 -w -fno-strict-aliasing -fPIC";
#endif

class EmulatedKernel;
struct Kernels {
  std::map<std::string, std::shared_ptr<EmulatedKernel>> all;  // by entry
  std::vector<std::shared_ptr<EmulatedKernel>> waiting;
};
Kernels& kernels() {
  static Kernels kernels;
  return kernels;
}
void compile_waiting();

class EmulatedKernel : public GeneratedKernel {
 public:
  EmulatedKernel(std::string entry, std::string text) : entry_(std::move(entry)), text_(std::move(text)) {}
  void launch(void* stream, const Grid& grid, std::span<const std::byte> arguments) override {
    check_stream(stream);
    if (function_ == nullptr) compile_waiting();
    const auto own = std::make_shared<std::vector<std::uint64_t>>((arguments.size() + 7) / 8);
    std::memcpy(own->data(), arguments.data(), arguments.size());
    do_or_note([grid, own, function = function_] {
      emulate({grid.blocks, grid.threads, grid.shared, grid.barriers, grid.together, grid.cluster},
              [&] { function(own->data()); });
    });
  }
  const std::string& text() const { return text_; }
  void find(void* library) {
    function_ = reinterpret_cast<Function*>(dlsym(library, entry_.c_str()));
    GRAPHRUN_CHECK(function_ != nullptr, "a generated text without its entry " + entry_);
  }

 private:
  using Function = void(const void*);
  std::string entry_, text_;
  Function* function_ = nullptr;
};

// A temporary folder, removed when the object is destroyed.
struct WorkFolder {
  WorkFolder() {
    std::string name = (fs::temp_directory_path() / "graphrun-XXXXXX").string();
    GRAPHRUN_CHECK(mkdtemp(name.data()) != nullptr, "no temporary folder");
    path = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string_view> with_headers(std::vector<std::string_view> made_from) {
  for (const DeviceHeader& header : device_headers()) made_from.insert(made_from.end(), {header.name, header.text});
  return made_from;
}

// What the command prints goes to the file `log` in the folder.
bool run(const std::string& command, const fs::path& folder) {
  return std::system((command + " >" + (folder / "log").string() + " 2>&1").c_str()) == 0;
}

// The option that includes all headers, which lie in `folder`, in precompiled form: otherwise, reading them takes most of the
// time that a kernel takes to compile. Empty unless the environment names a cache to keep that form in, which takes 40 MB.
std::string precompiled_headers(const fs::path& folder) {
  const std::string cached = CodeCache(with_headers({kCompiler, __VERSION__})).path();
  if (std::getenv("GRAPHRUN_CACHE") == nullptr || cached.empty()) return "";
  const std::string path = cached + ".h", precompiled = path + ".gch";
  if (!fs::exists(precompiled)) {
    std::string all;
    for (const DeviceHeader& header : device_headers()) {
      if (fs::path(header.name).extension() == ".h") all += "#include \"" + std::string(header.name) + "\"\n";
    }
    for (const fs::path& place : {fs::path(path), folder / "all.h"}) write(place, all);
    // Other processes may write it too; the last one wins.
    const std::string own = precompiled + folder.filename().string();
    if (!run(kCompiler + (" -x c++-header -I " + folder.string()) + " -o " + own + " " + (folder / "all.h").string(), folder))
      return "";
    fs::rename(own, precompiled);
  }
  return " -include " + path;
}

void compile(const std::string& text, const fs::path& folder, const fs::path& library) {
  for (const DeviceHeader& header : device_headers()) write(folder / header.name, header.text);
  write(folder / "kernels.cc", text);
  const std::string command = kCompiler + (" -shared -I " + folder.string()) + precompiled_headers(folder) + " -o " +
                              library.string() + " " + (folder / "kernels.cc").string();
  if (run(command, folder)) return;
  throw InternalError("the host's compiler refuses generated kernels:\n" + text + "\n" +
                      read_file((folder / "log").string(), 1 << 20));
}

void compile_waiting() {
  const std::vector<std::shared_ptr<EmulatedKernel>> waiting = std::exchange(kernels().waiting, {});
  std::string text;
  for (const auto& kernel : waiting) text += kernel->text();
  const WorkFolder folder;
  const fs::path library = folder.path / "kernels.so";
  const CodeCache cache(with_headers({text, kCompiler}));
  if (const std::optional<std::string> code = cache.find()) {
    write(library, *code);
  } else {
    compile(text, folder.path, library);
    cache.keep(read_file(library.string(), std::uint64_t{1} << 30));
  }
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  GRAPHRUN_CHECK(opened != nullptr, std::string("generated kernels do not load: ") + dlerror());
  for (const auto& kernel : waiting) kernel->find(opened);
}

}  // namespace

std::shared_ptr<GeneratedKernel> generated_kernel(const std::string& entry, const std::string& text) {
  std::shared_ptr<EmulatedKernel>& kernel = kernels().all[entry];
  if (kernel == nullptr) {
    kernel = std::make_shared<EmulatedKernel>(entry, text);
    kernels().waiting.push_back(kernel);
  }
  return kernel;
}

}  // namespace graphrun::cuda

// For tests: runs a kernel of one thread, compiled from `text` alone.
extern "C" void graphrun_launch_generated(const char* entry, const char* text, const std::byte* arguments, std::size_t bytes) {
  graphrun::cuda::generated_kernel(entry, text)->launch(nullptr, {}, {arguments, bytes});
}

// For tests: calls `visit` with every text that was requested.
extern "C" void graphrun_visit_generated(void (*visit)(const char* text, void* to), void* to) {
  for (const auto& [entry, kernel] : graphrun::cuda::kernels().all) visit(kernel->text().c_str(), to);
}
