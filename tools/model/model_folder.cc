#include "tools/model/model_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/file.h"
#include "runtime/tensor/checkpoint.h"
#include "runtime/tensor/manifest.h"
#include "tools/cli/program.h"
#include "tools/data/field_vocabularies.h"
#include "tools/json/json.h"
#include "tools/model/loaded_models.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestText = std::uint64_t{1} << 30;  // largest file of the folder, in bytes
constexpr std::size_t kMostListed = 20;
const std::string kFormat = "graphrun model";

// Writes files and records their sizes and hashes.
class Writer {
 public:
  explicit Writer(const ModelLayout& layout) : layout_(layout) {}
  void write(const std::string& name, const std::string& text) {
    make_folders(parent_folder(layout_.path(name)));
    const FileDigest digest = write_file(layout_.path(name), text);
    files_[name] = {{"bytes", digest.bytes}, {"sha256", digest.sha256}};
  }
  void finish() const {
    const nlohmann::ordered_json manifest = {
        {"format", kFormat}, {"version", kModelVersion}, {"program", version()}, {"files", files_}};
    write_file(layout_.manifest(), json_text(manifest, 1) + "\n");
  }

 private:
  const ModelLayout& layout_;
  nlohmann::ordered_json files_;
};

[[noreturn]] void damaged(const ModelLayout& layout, const std::string& what) {
  throw UserError(ExitCode::kBadData, "E0665 damaged-model", fmt::format("the model '{}' is damaged: {}", layout.root, what),
                  {"help: copy the whole folder again from its source; --set and `load` change how a model is used, without "
                   "changes to its files"});
}

// The first model, by name, in a folder of several, such as training with several seeds writes; "" if there is none.
std::string model_inside(const std::string& folder) {
  std::error_code error;
  std::string first;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (is_there(ModelLayout{path}.manifest()) && (first.empty() || path < first)) first = path;
  }
  return first;
}

// Checks every file against the manifest, and returns the manifest.
ListedFiles checked_files(const ModelLayout& layout) {
  const RefuseManifest refuse = [&](const std::string& why) { damaged(layout, why); };
  if (!is_there(layout.manifest())) {
    const std::string held = model_inside(layout.root);
    throw UserError(ExitCode::kBadData, "E0663 no-model",
                    fmt::format("'{}' is not a model folder: it has no manifest.json", layout.root),
                    {held.empty() ? "help: graphrun train JOB --out DIR makes one"
                                  : fmt::format("help: it holds models: '{}', for one", held)});
  }
  check_regular(layout.root, "manifest.json", refuse);
  const auto manifest = parse_manifest(read_file(layout.manifest(), kLargestManifest), kFormat, "model", refuse);
  if (const std::uint64_t version = version_of(manifest); version > kModelVersion) {
    throw UserError(
        ExitCode::kBadData, "E0664 newer-model",
        fmt::format("the model '{}' has version {}; this program knows those up to {}", layout.root, version, kModelVersion),
        {"help: a newer graphrun reads it"});
  }
  const ListedFiles files = files_of(
      manifest, [](const std::string&) { return true; }, refuse);
  for (const auto& [name, digest] : files) {
    check_regular(layout.root, name, refuse);
    if (digest_file(layout.path(name)) != digest) damaged(layout, name + " is not what was written");
  }
  return files;
}

void check_listed(const ModelLayout& layout, const ListedFiles& files, const std::string& name) {
  if (files.count(name) == 0) damaged(layout, fmt::format("manifest.json does not list {}", name));
}

// Whether the folder has an optional file.
bool has_listed(const ModelLayout& layout, const ListedFiles& files, const std::string& name) {
  if (is_there(layout.path(name))) check_listed(layout, files, name);
  return files.count(name) != 0;
}

// The listed graphs, by their paths in the folder `graphs`. A file that was added there could otherwise be read in place of
// another.
std::set<std::string> listed_graphs(const ModelLayout& layout, const ListedFiles& files) {
  const std::string folder = "graphs/";
  std::set<std::string> graphs;
  for (const auto& [name, digest] : files) {
    if (name.starts_with(folder)) graphs.insert(name.substr(folder.size()));
  }
  std::error_code error;
  do {
    for (std::filesystem::recursive_directory_iterator i(layout.graphs(), error), end; !error && i != end; i.increment(error)) {
      const std::filesystem::path& file = i->path();
      if (file.extension() == ".pbtxt" && !file.filename().string().starts_with('.')) {
        check_listed(layout, files, folder + file.lexically_relative(layout.graphs()).generic_string());
      }
    }
  } while (error == std::errc::interrupted);
  if (error) unreadable_file(layout.graphs(), error.value());
  if (graphs.empty()) damaged(layout, "manifest.json lists no graph");
  return graphs;
}

// The meanings of paths that do not mean themselves; a folder without such paths has no file for them.
PathMeanings read_meanings(const ModelLayout& layout, const ListedFiles& files) {
  const std::string path = layout.path(ModelLayout::meanings_name());
  if (!has_listed(layout, files, ModelLayout::meanings_name())) return {};
  try {
    return parse_json(read_file(path, kLargestText)).get<PathMeanings>();
  } catch (const nlohmann::json::exception&) {
    damaged(layout, std::string(ModelLayout::meanings_name()) + " is not a model's");
  }
}

// Reads the subword model of a vocabulary.
void take_subwords(const ModelLayout& layout, const ListedFiles& files, const FieldSpec& field, Vocabulary& vocabulary) {
  const std::string name = ModelLayout::subwords_name(field.name);
  if (!has_listed(layout, files, name)) {
    throw UserError(ExitCode::kBadData, "E0665 damaged-model",
                    fmt::format("the model '{}' is damaged: {}, which cuts the text of field '{}', is missing", layout.root,
                                name, field.name),
                    {"help: copy the whole folder: all of it is needed"});
  }
  auto subwords = Subwords::read(layout.path(name));
  const auto entries = subwords->entries();
  const auto missing = std::find_if(entries.begin(), entries.end(), [&](const std::string& e) { return !vocabulary.has(e); });
  if (missing != entries.end()) {
    damaged(layout, fmt::format("{} has {} pieces, '{}' among them, which {} with its {} entries lacks", name, entries.size(),
                                *missing, ModelLayout::vocabulary_name(field.name), vocabulary.size()));
  }
  vocabulary.set_form({true, "", std::move(subwords)});
}

// Binds feeds and reports; adds mistakes to `problems`.
void bind(Network& network, std::vector<Diagnostic>& problems) {
  network.job.plan->bind(network.vocabularies);
  std::vector<Diagnostic> said;  // reported when the job was read
  network.report = std::make_unique<Report>(network.job.report, said);
  if (!network.job.plan->sound()) return;  // the entries of a feed are then unknown
  try {
    network.report->bind([&](const std::string& name) -> const Vocabulary* {
      const FeedPlan::Feed* feed = network.job.plan->feed(name);
      if (feed == nullptr || feed->field.empty()) return nullptr;
      return &network.vocabularies.at(feed->field);
    });
  } catch (const UserError& error) {
    problems.insert(problems.end(), error.diagnostics().begin(), error.diagnostics().end());
  }
}

void bind(Network& network) {
  std::vector<Diagnostic> problems;
  bind(network, problems);
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
}

}  // namespace

void write_model(const ModelLayout& layout, const LoadedJob& job, const GraphSources& graphs, const Vocabularies& vocabularies,
                 const std::string& data, const std::string& expanded) {
  Writer writer(layout);
  for (const SourceFile& graph : graphs.files) writer.write("graphs/" + graph.path, graph.text);
  if (!graphs.meanings.empty()) {
    writer.write(ModelLayout::meanings_name(), json_text(nlohmann::ordered_json(graphs.meanings), 1) + "\n");
  }
  for (const auto& [field, vocabulary] : vocabularies) writer.write(ModelLayout::vocabulary_name(field), vocabulary.text());
  for (const auto& [field, vocabulary] : vocabularies) {
    const Subwords* const subwords = vocabulary.form().subwords.get();
    if (subwords != nullptr) writer.write(ModelLayout::subwords_name(field), subwords->bytes());
  }
  std::map<std::string, std::string> tables;  // as the job in the folder names them
  for (const InferSpec& infer : job.infer) {
    if (!infer.generate || !infer.generate->shortlist) continue;
    tables[infer.name] = ModelLayout::table_name(infer.name);
    writer.write(tables[infer.name], read_file(infer.generate->shortlist->table, kLargestText));
  }
  writer.write("job.pbtxt", dump_job(job, true, tables));
  writer.write("data.json", data);
  writer.write("graph.txt", expanded);
  writer.finish();
}

GraphRequest Network::request(bool training) const {
  GraphRequest request;
  request.path = job.message.graph();
  request.at = job.places.location("graph");
  request.from_graphs = true;
  request.job = job.path;
  request.graphs_root = graphs_root;
  request.kept = kept;
  request.kept_files = kept_files;
  request.bindings = job.arguments(vocabularies);
  request.training = training;
  if (training || report == nullptr) return request;
  request.keep = keep;
  for (const NameUse& use : report->names()) {
    if (use.name.find('.') != std::string::npos) request.keep.push_back(use.name);
  }
  return request;
}

ir::Graph Network::graph(bool training, std::vector<Diagnostic>* warnings, GraphSources* sources) const {
  try {
    return load_graph(request(training), warnings, sources);
  } catch (const UserError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& diagnostic : diagnostics) diagnostic = job.at_argument(std::move(diagnostic));
    throw UserError(error.exit_code(), std::move(diagnostics));
  }
}

Network build_network(LoadedJob job, std::vector<Diagnostic>& problems, std::optional<ReadExamples>* training) {
  Network network;
  network.job = std::move(job);
  network.vocabularies = network.job.load.empty() ? build_vocabularies(network.job.data, *network.job.plan, training)
                                                  : loaded_vocabularies(network.job);
  bind(network, problems);
  return network;
}

Network build_network(LoadedJob job, Vocabularies vocabularies, std::vector<Diagnostic>& problems) {
  Network network;
  network.job = std::move(job);
  network.vocabularies = std::move(vocabularies);
  bind(network, problems);
  return network;
}

Network build_network(LoadedJob job, std::optional<ReadExamples>* training) {
  std::vector<Diagnostic> problems;
  Network network = build_network(std::move(job), problems, training);
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
  return network;
}

Network read_network(const ModelLayout& layout, const std::vector<std::string>& settings) {
  const ListedFiles files = checked_files(layout);
  check_listed(layout, files, "job.pbtxt");
  has_listed(layout, files, "data.json");  // it is read when a run is resumed
  Network network;
  network.job = load_job(layout.job(), settings);
  network.graphs_root = layout.graphs();
  network.kept = read_meanings(layout, files);
  network.kept_files = listed_graphs(layout, files);
  for (const InferSpec& infer : network.job.infer) {
    const std::string name = ModelLayout::table_name(infer.name);
    if (infer.generate && infer.generate->shortlist && infer.generate->shortlist->table == layout.path(name)) {
      check_listed(layout, files, name);
    }
  }
  for (const FieldSpec& field : network.job.data.fields) {
    if (field.numbers) continue;
    const std::string name = ModelLayout::vocabulary_name(field.name), path = layout.path(name);
    check_listed(layout, files, name);
    Vocabulary& vocabulary = network.vocabularies[field.name] = Vocabulary::read(path, field.vocabulary.closed, {}, true);
    if (field.in_subwords()) take_subwords(layout, files, field, vocabulary);
    set_text_form(network.job.data, field, vocabulary);
  }
  bind(network);
  return network;
}

Parameters read_parameters(const ModelLayout& layout) {
  const NewestCheckpoint newest = newest_sound(layout.root, "best");
  if (!newest.damaged.empty()) damaged(layout, newest.damaged.front());
  if (!newest.folder) {
    throw UserError(
        ExitCode::kBadData, "E0666 untrained-model",
        fmt::format("the model '{}' has no parameters yet: its training ended before the first epoch did", layout.root),
        {"help: graphrun train JOB --out DIR --resume continues it"});
  }
  const CheckpointReader checkpoint(*newest.folder);
  Parameters parameters;
  parameters.file = *newest.folder + "/parameters.safetensors";
  parameters.tensors = checkpoint.group("parameters");
  if (checkpoint.has_text("reports.json")) parameters.reports = checkpoint.text("reports.json");
  return parameters;
}

}  // namespace graphrun

namespace graphrun {

void set_parameters(const Program& program, const Parameters& parameters, Variables& variables) {
  std::vector<std::string> problems;
  for (const VariableSpec& v : program.variables) {
    if (v.kind != VariableSpec::Kind::kParameter) continue;
    const auto it = parameters.tensors.find(v.name);
    if (it == parameters.tensors.end()) {
      problems.push_back("note: '" + v.name + "' is missing");
    } else if (it->second.sizes() != evaluate(v.shape, {})) {
      problems.push_back("note: '" + v.name + "' is " + str(it->second.sizes()) + ", the graph has " + str(v.shape));
    } else {
      variables.set(v.name, it->second.dtype() == v.dtype ? it->second : it->second.converted(v.dtype));
    }
  }
  // Parameters that only training uses are not a mistake; but if others are missing, these show to which graph the file
  // belongs.
  for (const auto& [name, tensor] : parameters.tensors) {
    const auto has_name = [&name = name](const VariableSpec& v) { return v.name == name; };
    if (problems.empty() || std::any_of(program.variables.begin(), program.variables.end(), has_name)) continue;
    problems.push_back("note: '" + name + "' " + str(tensor.sizes()) + " is surplus");
  }
  if (problems.size() > kMostListed) {
    const std::size_t more = problems.size() - kMostListed;
    problems.resize(kMostListed);
    problems.push_back(fmt::format("note: and {} more", more));
  }
  if (!problems.empty()) {
    throw UserError(ExitCode::kBadData, "E0662 other-parameters", parameters.file + ": does not fit the graph",
                    std::move(problems));
  }
}

}  // namespace graphrun
