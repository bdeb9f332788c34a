#include "tools/job/data_files.h"

#include <filesystem>

#include "runtime/file.h"
#include "tools/job/problems.h"

namespace graphrun {

std::vector<Diagnostic> unreadable_files(const LoadedJob& job) {
  namespace fs = std::filesystem;
  std::vector<Diagnostic> problems;
  const Places& data = inside(job.places, "data");
  const auto look = [&](const char* field, const std::vector<std::string>& files) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      std::error_code none;
      const fs::file_status status = fs::status(files[i], none);
      if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) continue;
      try {
        const InputFile file(files[i]);
      } catch (const UserError& error) {
        for (Diagnostic d : error.diagnostics()) {
          d.at = data.location(field, i);
          problems.push_back(std::move(d));
        }
      }
    }
  };
  look("train", job.data.train);
  look("valid", job.data.valid);
  look("test", job.data.test);
  if (!problems.empty())
    problems.back().notes.push_back(
        "help: --set data.train=FILE, valid and test name other places; graphs/data/README.md tells where "
        "the data of the jobs that come with graphrun is from");
  return problems;
}

}  // namespace graphrun
