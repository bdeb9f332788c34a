// Files that a test writes, in a folder that is removed when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "tests/tools/compressed.h"

namespace graphrun {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "graphrun-test-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp");
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  // Writes a file and returns its path.
  std::string file(std::string_view name, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string zipped(std::string_view name, std::string_view text) const { return file(name, gzip_of(text)); }

 private:
  std::filesystem::path folder_;
};

// The text of the UserError that `run` throws; "" if it throws none.
template <class F>
std::string message_of(const F& run) {
  try {
    run();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace graphrun
