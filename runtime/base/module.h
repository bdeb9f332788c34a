// Modules: libraries beside graphrun's own, each loaded when it is first needed. What a module stands on is then loaded by
// those alone who need it. Nothing of C++ crosses between a module and its callers.
#pragma once

#include <cstddef>
#include <filesystem>

namespace graphrun {

extern "C" {

// Takes bytes that live no longer than the call; `to` is the caller's.
using TakeBytes = void (*)(void* to, const char* bytes, std::size_t size);

}  // extern "C"

struct Module {
  const char* name;  // of its one symbol, which is a function; its file is lib<name>.so
  // Its own symbols come before those that are loaded already. What sanitizers watch can't be loaded so: there the module gets
  // everything it needs anew.
  bool apart;
  const char* code;    // of the error
  const char* what;    // begins the error's text: "Graphviz, which draws graphs,"
  const char* remedy;  // a note for those whose module is there, but does not load
};

// The module's function; the module stays loaded. Throws UserError (kRunFailed, the module's code) where it does not load.
void* module_function(const Module& module);

// The folder of graphrun's own library, without symbolic links, so that an installation may be moved; empty where the system
// does not tell it.
std::filesystem::path library_folder();

}  // namespace graphrun
