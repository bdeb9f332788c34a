// Files by their paths from a folder: what a mutant is made of, and what the corpus keeps.
#pragma once

#include <map>
#include <string>

namespace graphrun::mutants {

using Files = std::map<std::string, std::string>;

Files read_files(const std::string& folder);                      // every regular file below it
void write_files(const std::string& folder, const Files& files);  // with the folders that they need
std::string read_whole(const std::string& path);

}  // namespace graphrun::mutants
