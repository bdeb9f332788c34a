#include "tools/job/data_files.h"

#include <filesystem>

#include "runtime/base/file.h"
#include "tools/job/problems.h"

namespace graphrun {

std::vector<NamedFile> named_files(const LoadedJob& job) {
  std::vector<NamedFile> files;
  const Places& data = inside(job.places, "data");
  const auto add = [&](const char* field, const std::vector<std::string>& paths) {
    for (std::size_t i = 0; i < paths.size(); ++i) files.push_back({paths[i], data.location(field, i), false});
  };
  add("train", job.data.train);
  add("valid", job.data.valid);
  add("test", job.data.test);
  for (const FieldSpec& field : job.data.fields) {
    if (!field.shares.empty() || !job.load.empty()) continue;
    for (const std::string& file : {field.vocabulary_file, field.subword_model}) {
      if (!file.empty()) files.push_back({file, field.vocabulary_at, true});
    }
  }
  return files;
}

std::vector<Diagnostic> unreadable_files(const LoadedJob& job) {
  namespace fs = std::filesystem;
  std::vector<Diagnostic> problems;
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
  const std::vector<NamedFile> files = named_files(job);
  for (const NamedFile& file : files) {
    if (!file.is_vocabulary) look_at(file.path, file.at);
  }
  if (!problems.empty()) {
    problems.back().notes.push_back(
        "help: use --set data.train=FILE (or valid, test) for other files; graphs/data/README.md says where to get the "
        "data of the shipped jobs");
  }
  for (const NamedFile& file : files) {
    if (file.is_vocabulary) look_at(file.path, file.at);
  }
  return problems;
}

}  // namespace graphrun
