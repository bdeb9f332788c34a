#include "tests/mutants/files.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace graphrun::mutants {

namespace fs = std::filesystem;

std::string read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

Files read_files(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().lexically_relative(folder).string()] = read_whole(entry.path().string());
  }
  return files;
}

void write_files(const std::string& folder, const Files& files) {
  for (const auto& [name, bytes] : files) {
    const fs::path path = fs::path(folder) / name;
    fs::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << bytes;
    if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
  }
}

}  // namespace graphrun::mutants
