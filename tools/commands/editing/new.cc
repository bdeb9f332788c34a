// graphrun new KIND DIR: a small project to begin with.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "compiler/frontend/installation.h"
#include "runtime/base/file.h"
#include "tools/cli/shell.h"
#include "tools/commands/command_line.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestTemplate = 16 << 20;

// The kinds of projects: the folders of this installation.
std::vector<std::string> kinds_of_projects() {
  const std::string all = frontend::installed_projects();
  std::vector<std::string> kinds;
  for (const std::string& name : names_in(all)) {
    if (fs::is_directory(fs::path(all) / name)) kinds.push_back(name);
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

// Copies the files of a folder, and of the folders in it.
void copy_folder(const std::string& from, const std::string& to) {
  make_folders(to);
  for (const std::string& name : names_in(from)) {
    const std::string source = from + "/" + name, target = to + "/" + name;
    if (fs::is_directory(source)) {
      copy_folder(source, target);
    } else {
      write_file(target, read_file(source, kLargestTemplate));
    }
  }
}

}  // namespace

ExitCode run_new(const Arguments& arguments) {
  CommandLine line;
  line.usage = "graphrun new KIND DIR";
  line.about =
      "Makes a small project in the folder DIR, which must be empty or not exist: a network to change, a job that trains it,\n"
      "data to replace, and a page that says how. It trains in seconds. KIND is cell, language_model, tagger, classifier or\n"
      "translator.";
  line.examples = {"graphrun new tagger mine && graphrun train mine/job.pbtxt --out mine/run"};
  line.words = {{"KIND"}, {"DIR"}};
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const std::string kind = option<std::string>(*options, "KIND"), folder = option<std::string>(*options, "DIR");
  const std::vector<std::string> kinds = kinds_of_projects();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    const std::string near = did_you_mean(kind, kinds);
    throw UsageError(fmt::format("there is no project '{}'; {}", kind,
                                 near.empty() ? fmt::format("there are: {}", fmt::join(kinds, ", ")) : near));
  }
  if (is_file_there(folder)) throw UsageError(fmt::format("'{}' is a file", folder));
  if (is_there(folder) && !names_in(folder).empty()) throw UsageError(fmt::format("'{}' exists and is not empty", folder));
  copy_folder(frontend::installed_projects() + "/" + kind, folder);
  sync_folder(folder);
  if (options->count("quiet") == 0) {
    const std::string path = shell_quoted(folder);
    fmt::print("'{}' is ready: {}/README.md says how to go on. To train it:\n  graphrun train {}/job.pbtxt --out {}/run\n",
               folder, folder, path, path);
  }
  return ExitCode::kDone;
}

}  // namespace graphrun
