// Libraries of NVIDIA's toolkit that are loaded at run time.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace graphrun::cuda {

// The first of these libraries that loads: from where the system looks for libraries, $CUDA_HOME, $CUDA_PATH, or
// /usr/local/cuda. Null if none does.
inline void* open_of_toolkit(const std::vector<std::string>& files) {
  std::vector<std::string> names = files;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable)) {
      for (const std::string& file : files) names.push_back(std::string(root) + "/lib64/" + file);
    }
  }
  for (const std::string& file : files) names.push_back("/usr/local/cuda/lib64/" + file);
  for (const std::string& name : names) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}  // namespace graphrun::cuda
