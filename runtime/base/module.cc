#include "runtime/base/module.h"

#include <dlfcn.h>

#include <string>

#include "runtime/base/status.h"

namespace graphrun {

namespace fs = std::filesystem;

fs::path library_folder() {
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &library) == 0 || library.dli_fname == nullptr) return {};
  std::error_code error;
  return fs::canonical(library.dli_fname, error).parent_path();
}

void* module_function(const Module& module) {
  const std::string file = std::string("lib") + module.name + ".so";
  const fs::path path = library_folder() / file;
#ifdef __SANITIZE_ADDRESS__
  void* const loaded =
      module.apart ? dlmopen(LM_ID_NEWLM, path.c_str(), RTLD_NOW | RTLD_LOCAL) : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
#else
  void* const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | (module.apart ? RTLD_DEEPBIND : 0));
#endif
  void* const function = loaded == nullptr ? nullptr : dlsym(loaded, module.name);
  if (function != nullptr) return function;
  const char* const why = dlerror();
  throw UserError(ExitCode::kRunFailed, module.code,
                  std::string(module.what) + " can't be loaded: " + (why ? why : "no reason given"),
                  {"help: " + file + " belongs in the folder of graphrun's library; tools/build builds both",
                   std::string("help: ") + module.remedy});
}

}  // namespace graphrun
