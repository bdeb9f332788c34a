// Modules: shared libraries next to graphrun's own, each loaded on first use, so that only those who use a module load its
// dependencies. The interface between a module and its callers is plain C.
#pragma once

#include <cstddef>
#include <filesystem>

namespace graphrun {

extern "C" {

// Receives bytes that are valid only during the call; `to` is the caller's pointer.
using TakeBytes = void (*)(void* to, const char* bytes, std::size_t size);

}  // extern "C"

struct Module {
  const char* name;  // the name of its only exported symbol, a function; the file is lib<name>.so
  // Its own symbols take precedence over those already loaded (RTLD_DEEPBIND). Sanitizers do not support that; under them the
  // module gets its own copy of every library that it needs.
  bool apart;
  const char* code;    // the error's code
  const char* what;    // begins the error's message: "SentencePiece, which cuts text into subwords,"
  const char* remedy;  // a note for users whose module exists but fails to load
};

// The module's function; the module stays loaded. Throws UserError (kRunFailed, the module's code) if it fails to load.
void* module_function(const Module& module);

// The folder of graphrun's own library, with symbolic links resolved, so that an installation may be moved; empty if the system
// does not report it.
std::filesystem::path library_folder();

}  // namespace graphrun
