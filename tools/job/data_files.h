// The files of a job's data and vocabularies.
#pragma once

#include <string>
#include <vector>

#include "tools/job/job.h"

namespace graphrun {

struct NamedFile {
  std::string path;
  Location at;  // where the job names it
  bool is_vocabulary = false;
};
// The files of data and vocabularies that a job names.
std::vector<NamedFile> named_files(const LoadedJob& job);

// Reports the files that cannot be opened, each at its location in the job. Pipes are not checked, because opening one would
// consume it.
std::vector<Diagnostic> unreadable_files(const LoadedJob& job);

}  // namespace graphrun
