// graphrun format FILE…: graphs and jobs in the style of the shipped ones.
#include "tools/format/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "compiler/frontend/source.h"
#include "runtime/base/file.h"
#include "tools/commands/command_line.h"
#include "tools/format/unified_diff.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

// The .pbtxt files in a folder and the folders in it, in the order of their names; without what is hidden. Links to folders are
// not followed.
std::vector<std::string> graphs_in_folder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator i(folder, error), end;
  for (; !error && i != end; i.increment(error)) {
    const bool hidden = i->path().filename().string().starts_with(".");
    if (i->is_directory(error)) {
      if (hidden) i.disable_recursion_pending();
    } else if (!hidden && i->path().extension() == ".pbtxt") {
      files.push_back(i->path().string());
    }
  }
  if (error) unreadable_file(folder, error.value());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> files_to_format(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& path : given) {
    std::error_code error;
    if (path == "-" || !fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const std::vector<std::string> in_folder = graphs_in_folder(path);
    if (in_folder.empty()) throw UsageError(fmt::format("'{}' contains no .pbtxt files; hidden ones do not count", path));
    files.insert(files.end(), in_folder.begin(), in_folder.end());
  }
  return files;
}

}  // namespace

ExitCode run_format(const Arguments& arguments) {
  po::options_description group("what to write", 100);
  group.add_options()("check", po::bool_switch(),
                      "change nothing; list files that would change, and end with exit code 1 if there are any")(
      "diff", po::bool_switch(), "the same, but print how they would change, as a unified diff")(
      "stdout", po::bool_switch(), "write to stdout instead of the files");
  CommandLine line;
  line.usage = "graphrun format FILE ... [option ...]";
  line.about =
      "Formats graphs and jobs: spaces, indents, columns and long lines. Keeps comments, blank lines, the order of fields and\n"
      "the meaning. Leaves a file that cannot be parsed as it is and reports its mistakes. A folder as FILE stands for all\n"
      ".pbtxt files in it and in its folders, without hidden ones. With - as FILE, formats stdin to stdout.";
  line.examples = {"graphrun format janet.pbtxt graphs/cells/*.pbtxt", "graphrun format --check mine",
                   "graphrun format --diff mine > changes.patch", "graphrun format - < job.pbtxt"};
  line.words = {{"FILE", true, true}};
  line.groups.push_back(group);
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  const bool diff = option<bool>(*options, "diff"), check = option<bool>(*options, "check"),
             to_stdout = option<bool>(*options, "stdout");
  if (to_stdout && (diff || check))
    throw UsageError(fmt::format("--stdout and --{} exclude each other", diff ? "diff" : "check"));
  std::vector<Diagnostic> mistakes;
  bool changes = false;
  for (const std::string& path : files_to_format(option<std::vector<std::string>>(*options, "FILE"))) {
    try {
      const bool piped = path == "-";
      const std::string name = piped ? "stdin" : path;
      const std::string text = piped ? std::string(without_byte_order_mark(read_input(path))) : read_source(path);
      const std::string formatted = format_source(text, piped ? intern_text(name, text) : intern_file(path));
      if (diff || check) {
        if (formatted != text) write_output("-", diff ? unified_diff(text, formatted, name) : name + "\n");
        changes |= formatted != text;
      } else if (piped || to_stdout) {
        write_output("-", formatted);
      } else if (formatted != text) {
        write_output(path, formatted);
        if (options->count("quiet") == 0) fmt::print(stderr, "formatted {}\n", path);
      }
    } catch (const UserError& error) {
      if (error.exit_code() != ExitCode::kInvalidGraph) throw;
      mistakes.insert(mistakes.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!mistakes.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(mistakes));
  return changes ? ExitCode::kRunFailed : ExitCode::kDone;
}

}  // namespace graphrun
