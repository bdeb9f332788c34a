#include "tools/job/data_files.h"

#include <filesystem>

#include "runtime/base/file.h"
#include "tools/job/problems.h"

namespace graphrun {

std::vector<Diagnostic> unreadable_files(const LoadedJob& job) {
  namespace fs = std::filesystem;
  std::vector<Diagnostic> problems;
  const Places& data = inside(job.places, "data");
  const auto look_at = [&](const std::string& file, const Location& at) {
    std::error_code none;
    const fs::file_status status = fs::status(file, none);
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) return;
    try {
      const InputFile opened(file);
    } catch (const UserError& error) {
      if (error.exit_code() == ExitCode::kNoRoom) throw;  // not a mistake in the job
      for (Diagnostic d : error.diagnostics()) {
        d.at = at;
        problems.push_back(std::move(d));
      }
    }
  };
  const auto look = [&](const char* field, const std::vector<std::string>& files) {
    for (std::size_t i = 0; i < files.size(); ++i) look_at(files[i], data.location(field, i));
  };
  look("train", job.data.train);
  look("valid", job.data.valid);
  look("test", job.data.test);
  if (!problems.empty()) {
    problems.back().notes.push_back(
        "help: use --set data.train=FILE (or valid, test) for other files; graphs/data/README.md says where to get the "
        "data of the shipped jobs");
  }
  for (const FieldSpec& field : job.data.fields) {
    if (!field.shares.empty() || !job.load.empty()) continue;
    for (const std::string& file : {field.vocabulary_file, field.subword_model}) {
      if (!file.empty()) look_at(file, field.vocabulary_at);
    }
  }
  return problems;
}

}  // namespace graphrun
