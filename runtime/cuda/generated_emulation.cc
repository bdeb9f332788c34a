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

// If races are watched, those of generated kernels are too.
#if defined(__SANITIZE_THREAD__)
constexpr const char* kWatched = " -g -fsanitize=thread";
#else
constexpr const char* kWatched = "";
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

void compile(const std::string& text, const fs::path& folder, const fs::path& library) {
  for (const DeviceHeader& header : device_headers()) write(folder / header.name, header.text);
  write(folder / "kernels.cc", text);
  // No strict aliasing: packs of elements are read through other types than they were written through.
  const std::string command = "c++ -std=c++20 -O1 -w -fno-strict-aliasing -fPIC -shared" + std::string(kWatched) + " -I " +
                              folder.string() + " -o " + library.string() + " " + (folder / "kernels.cc").string() + " > " +
                              (folder / "log").string() + " 2>&1";
  if (std::system(command.c_str()) == 0) return;
  throw InternalError("the host's compiler refuses generated kernels:\n" + text + "\n" +
                      read_file((folder / "log").string(), 1 << 20));
}

void compile_waiting() {
  const std::vector<std::shared_ptr<EmulatedKernel>> waiting = std::exchange(kernels().waiting, {});
  std::string text;
  for (const auto& kernel : waiting) text += kernel->text();
  const WorkFolder folder;
  const fs::path library = folder.path / "kernels.so";
  std::vector<std::string_view> made_from = {text, "c++", kWatched};
  for (const DeviceHeader& header : device_headers()) made_from.insert(made_from.end(), {header.name, header.text});
  const CodeCache cache(made_from);
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
