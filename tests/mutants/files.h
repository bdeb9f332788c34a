// Files by their paths relative to a folder: the contents of a mutant and of a corpus entry.
#pragma once

#include <map>
#include <string>

namespace graphrun::mutants {

using Files = std::map<std::string, std::string>;

Files read_files(const std::string& folder);                      // every regular file below it
void write_files(const std::string& folder, const Files& files);  // and makes their folders
std::string read_whole(const std::string& path);

}  // namespace graphrun::mutants
