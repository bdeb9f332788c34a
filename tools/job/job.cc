#include "tools/job/job.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "graphs/graph.pb.h"
#include "runtime/base/suggestion.h"
#include "tools/cli/shell.h"
#include "tools/job/bindings.h"
#include "tools/job/data_spec.h"
#include "tools/job/field_paths.h"
#include "tools/job/job_check.h"
#include "tools/job/set.h"
#include "tools/job/train_check.h"

namespace graphrun {
namespace {

// The begin and end of a call in a text: "vocabulary (words)".
struct CallPlace {
  std::size_t begin = 0, end = 0;
  std::string field;
};

std::optional<CallPlace> find_call(const std::string& text, std::size_t from) {
  constexpr std::string_view kName = "vocabulary";
  const auto word = [&](std::size_t i) {
    return std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_' || text[i] == '.';
  };
  const auto skip = [&](std::size_t i) {
    while (i < text.size() && std::isspace(static_cast<unsigned char>(text[i]))) ++i;
    return i;
  };
  for (std::size_t at = text.find(kName, from); at != std::string::npos; at = text.find(kName, at + 1)) {
    std::size_t i = skip(at + kName.size());
    if ((at > 0 && word(at - 1)) || i >= text.size() || text[i] != '(') continue;
    const std::size_t begin = i = skip(i + 1);
    while (i < text.size() && word(i)) ++i;
    const std::string field = text.substr(begin, i - begin);
    i = skip(i);
    if (i < text.size() && text[i] == ')') return CallPlace{at, i + 1, field};
  }
  return std::nullopt;
}

// Whether a location is within the text.
bool holds(const ir::SourceText& text, const Location& place) {
  for (std::size_t i = 0; i < text.text.size(); ++i) {
    const Location at = text.at(i, 1);
    if (at.file == place.file && at.line == place.line && at.column == place.column) return true;
  }
  return false;
}

}  // namespace

const Location& GenerateSpec::place(const std::string& setting) const {
  const auto found = places.find(setting);
  return found == places.end() ? at : found->second;
}

const InferSpec* LoadedJob::infer_named(std::string_view name) const {
  for (const InferSpec& spec : infer) {
    if (name.empty() || spec.name == name) return &spec;
  }
  return nullptr;
}

std::vector<GraphRequest::Setting> LoadedJob::arguments(const Vocabularies& vocabularies) const {
  std::vector<GraphRequest::Setting> bindings;
  for (int i = 0; i < message.arg_size(); ++i) {
    for (const BindingText& binding : split_bindings(places.text("arg", static_cast<std::size_t>(i)))) {
      std::string text = binding.value.text;
      for (std::size_t from = 0; const auto call = find_call(text, from);) {
        const auto vocabulary = vocabularies.find(call->field);
        GRAPHRUN_CHECK(vocabulary != vocabularies.end(), "arguments: no vocabulary of field " + call->field);
        const std::string size = std::to_string(vocabulary->second.size());
        text.replace(call->begin, call->end - call->begin, size);
        from = call->begin + size.size();
      }
      bindings.push_back({binding.name, text, binding.value.at(0, std::max<std::size_t>(binding.value.text.size(), 1))});
    }
  }
  return bindings;
}

Diagnostic LoadedJob::at_argument(Diagnostic diagnostic) const {
  if (!diagnostic.code.starts_with("E0229")) return diagnostic;
  for (int i = 0; i < message.arg_size(); ++i) {
    for (const BindingText& binding : split_bindings(places.text("arg", static_cast<std::size_t>(i)))) {
      if (binding.name.empty() || !holds(binding.value, diagnostic.at)) continue;
      diagnostic.at = binding.whole.at(0, binding.name.size());
      const std::string field = suggestion(field_paths(message, binding.name));
      if (!field.empty()) diagnostic.notes.insert(diagnostic.notes.begin(), "help: " + field);
      // The args in the job are for the graph that the job names.
      const std::string* const graph_from = places.location("graph").file;
      if (graph_from != places.at.file && diagnostic.at.file == places.at.file) {
        diagnostic.notes.push_back(
            fmt::format("note: the job gives this arg to its own graph, and {} names another", *graph_from));
        diagnostic.notes.push_back(
            "help: --set arg= leaves out all args of the job; then --set NAME=VALUE gives those that this graph needs");
      }
      return diagnostic;
    }
  }
  return diagnostic;
}

namespace {

// The message for a graph that is given as a job; nullopt if the text is no graph.
std::optional<Diagnostic> given_graph(std::string_view text, const std::string& path) {
  Graph graph;
  try {
    parse_source(text, intern_file(path), &graph, nullptr);
  } catch (const UserError&) {
    return std::nullopt;
  }
  if (graph.output_size() == 0 && graph.state_size() == 0) return std::nullopt;
  const auto has = [](const auto& parts, const char* name) {
    return std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
      return std::find(part.name().begin(), part.name().end(), name) != part.name().end();
    });
  };
  const bool cell = has(graph.arg(), "hidden") && has(graph.input(), "x") && graph.state_size() > 0;
  const std::string file = shell_quoted(path);
  Diagnostic d{Severity::kError, "E0419 no-job", {}, fmt::format("'{}' is a graph; expected a job", path), {}};
  d.notes.push_back(cell ? "help: a job that can use this cell: graphs/jobs/adding.pbtxt --set cell=" + file
                         : "help: a job names its graph; one of the same kind can use this one: --set graph=" + file);
  return d;
}

}  // namespace

LoadedJob read_job(std::string_view text, const std::string& path, const std::vector<std::string>& sets,
                   std::vector<Diagnostic>& problems) {
  LoadedJob job;
  job.path = path;
  job.folder = std::filesystem::path(path).parent_path().string();
  try {
    job.places = parse_source(text, intern_file(path), &job.message, &problems);
  } catch (const UserError&) {
    if (std::optional<Diagnostic> d = given_graph(text, path)) throw UserError(ExitCode::kInvalidGraph, {std::move(*d)});
    throw;
  }
  split_arguments(job.message, job.places);
  const std::size_t before = problems.size();
  apply_sets(sets, job.message, job.places, problems);
  job.as_set = problems.size() == before;
  job.data = make_data_spec(job.message, job.places, job.folder, problems);
  job.plan = std::make_unique<FeedPlan>(job.data, problems);
  check_job(job, problems);
  return job;
}

LoadedJob parse_job(std::string_view text, const std::string& path, const std::vector<std::string>& sets) {
  std::vector<Diagnostic> problems;
  LoadedJob job = read_job(text, path, sets, problems);
  if (!problems.empty()) {
    problems.insert(problems.end(), job.warnings.begin(), job.warnings.end());
    throw UserError(ExitCode::kInvalidGraph, std::move(problems));
  }
  return job;
}

LoadedJob load_job(const std::string& path, const std::vector<std::string>& sets) {
  return parse_job(read_source(path), path, sets);
}

void require_training(const LoadedJob& job) {
  std::vector<Diagnostic> problems;
  check_training(job, problems);
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
}

std::string dump_job(const LoadedJob& job, bool absolute, const std::map<std::string, std::string>& tables) {
  namespace fs = std::filesystem;
  Job message = job.message;
  if (absolute) {
    const auto whole = [&](std::string* path) { *path = fs::absolute(path_in(job.folder, *path)).lexically_normal().string(); };
    Job::Data& data = *message.mutable_data();
    for (auto* files : {data.mutable_train(), data.mutable_valid(), data.mutable_test()}) {
      for (std::string& path : *files) whole(&path);
    }
    for (Job::Field& field : *data.mutable_field()) {
      if (!field.has_vocabulary()) continue;  // an absent one is not read again either
      for (std::string* file : {field.mutable_vocabulary()->mutable_file(), field.mutable_vocabulary()->mutable_model()}) {
        if (!file->empty()) whole(file);
      }
    }
    for (Job::Infer& infer : *message.mutable_infer()) {
      if (!infer.generate().has_shortlist()) continue;
      std::string* const table = infer.mutable_generate()->mutable_shortlist()->mutable_table();
      const auto kept = tables.find(infer.name());
      kept == tables.end() ? whole(table) : void(*table = kept->second);
    }
    if (message.has_train()) {
      for (Job::Initialize& rule : *message.mutable_train()->mutable_initialize()) {
        if (rule.has_vectors()) whole(rule.mutable_vectors());
      }
      for (Job::Start& start : *message.mutable_train()->mutable_start()) whole(start.mutable_model());
    }
  }
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  GRAPHRUN_CHECK(printer.PrintToString(message, &text), "dump_job");
  return "# proto-file: graphs/job.proto\n# proto-message: graphrun.Job\n" + text;
}

}  // namespace graphrun
