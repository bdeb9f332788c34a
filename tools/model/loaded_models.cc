#include "tools/model/loaded_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "tools/cli/program.h"
#include "tools/model/network_check.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostShown = 40;  // bytes of an entry shown in a message

std::string shown(const std::string& entry) {
  return entry.size() <= kMostShown ? "'" + entry + "'" : fmt::format("an entry of {} bytes", entry.size());
}

[[noreturn]] void refuse(std::string code, const LoadSpec& load, std::string text, std::vector<std::string> notes) {
  throw UserError(ExitCode::kInvalidGraph, {{Severity::kError, std::move(code), load.at, std::move(text), std::move(notes)}});
}

// The difference between two vocabularies of a field; "" if they are equal.
std::string difference(const Vocabulary& a, const Vocabulary& b) {
  if (a.size() != b.size()) return fmt::format("{} entries and {}", a.size(), b.size());
  const auto [x, y] = std::mismatch(a.entries().begin(), a.entries().end(), b.entries().begin());
  if (x != a.entries().end()) {
    return fmt::format("entry {} is {} in one, {} in the other", x - a.entries().begin(), shown(*x), shown(*y));
  }
  const Subwords* const p = a.form().subwords.get();
  const Subwords* const q = b.form().subwords.get();
  if ((p == nullptr) != (q == nullptr)) return "one is of subwords";
  return p != nullptr && p->bytes() != q->bytes() ? "their entries are the same, but they split text differently" : "";
}

Network network_of(const LoadSpec& load) { return read_network(ModelLayout{load.folder}); }

}  // namespace

Vocabularies loaded_vocabularies(const LoadedJob& job) {
  Vocabularies vocabularies;
  std::map<std::string, const LoadSpec*> from;
  for (const LoadSpec& load : job.load) {
    const Network model = network_of(load);
    for (const FieldSpec& field : job.data.fields) {
      const auto theirs = model.vocabularies.find(field.name);
      if (theirs == model.vocabularies.end()) continue;
      const auto [ours, first] = vocabularies.emplace(field.name, theirs->second);
      if (first) {
        from[field.name] = &load;
        if (field.in_subwords() != (ours->second.form().subwords != nullptr)) {
          refuse("E0668 unlike-models", load,
                 fmt::format("field '{}' is cut into subwords {}", field.name,
                             field.in_subwords() ? "here, but not by the model" : "by the model, but not here"),
                 {"help: the field's split is that of the job in '" + load.folder + "'"});
        }
      } else if (const std::string what = difference(ours->second, theirs->second); !what.empty()) {
        refuse("E0668 unlike-models", load,
               fmt::format("the models have different vocabularies of field '{}': {}", field.name, what),
               {fmt::format("note: '{}' and '{}'", from[field.name]->folder, load.folder),
                "help: vocabulary { file: … } or { model: … } in their jobs, from one of them, makes them all equal"});
      }
    }
  }
  for (const FieldSpec& field : job.data.fields) {
    if (field.numbers || vocabularies.count(field.name) != 0) continue;
    std::string known;
    for (const auto& [name, vocabulary] : network_of(job.load.front()).vocabularies) {
      known += (known.empty() ? "" : ", ") + name;
    }
    throw UserError(ExitCode::kInvalidGraph, {{Severity::kError,
                                               "E0412 unknown-name",
                                               field.at,
                                               fmt::format("no model that is loaded has a field '{}'", field.name),
                                               {fmt::format("note: '{}' has {}", job.load.front().folder, known)}}});
  }
  return vocabularies;
}

Parameters loaded_parameters(const LoadedJob& job) {
  Parameters all;
  all.file = job.path;
  for (const LoadSpec& load : job.load) {
    const std::string before = load.path.empty() ? "" : load.path + ".";
    for (auto& [name, tensor] : read_parameters(ModelLayout{load.folder}).tensors) all.tensors[before + name] = tensor;
  }
  return all;
}

namespace {

std::string parent_of(const std::string& name) { return name.substr(0, name.rfind('.') + 1); }

// A loaded model may have parts that the graph lacks, such as a translator's decoder. But if the graph has a part with other
// parameters, the model belongs to another graph.
void check_parameters(const Network& network, const Parameters& loaded) {
  std::set<std::string> known, parts;
  for (const bool training : {false, true}) {
    const ir::Graph graph = network.graph(training);
    for (const ir::Variable& v : graph.variables) {
      if (v.kind == ir::Variable::Kind::kParameter) known.insert(graph.value(v.value).name);
    }
  }
  for (const std::string& name : known) parts.insert(parent_of(name));
  for (const LoadSpec& load : network.job.load) {
    const std::string before = load.path.empty() ? "" : load.path + ".";
    std::vector<std::string> surplus;
    std::size_t used = 0;
    for (auto at = loaded.tensors.lower_bound(before); at != loaded.tensors.end() && at->first.starts_with(before); ++at) {
      const std::string part = parent_of(at->first);
      if (known.count(at->first) != 0) {
        ++used;
      } else if (part != before && parts.count(part) != 0) {
        surplus.push_back("note: the graph has no '" + at->first + "'");
      }
    }
    if (surplus.empty() && used > 0) continue;
    if (used == 0) surplus = {fmt::format("note: no parameter of the graph begins with '{}'", before)};
    constexpr std::size_t kMostListed = 8;
    if (surplus.size() > kMostListed) {
      const std::size_t more = surplus.size() - kMostListed;
      surplus.resize(kMostListed);
      surplus.push_back(fmt::format("note: and {} more", more));
    }
    surplus.push_back(fmt::format("help: '{}' has the model's graph and args", ModelLayout{load.folder}.job()));
    refuse("E0668 unlike-models", load, fmt::format("the model in '{}' does not belong to the job's graph", load.folder),
           std::move(surplus));
  }
}

// Reports parts of the graph with parameters for which no model was loaded.
void check_all_loaded(const Network& network, const ir::Graph& graph, const Parameters& loaded) {
  for (const ir::Variable& v : graph.variables) {
    const std::string& name = graph.value(v.value).name;
    if (v.kind != ir::Variable::Kind::kParameter || loaded.tensors.count(name) != 0) continue;
    const auto is_of = [&](const LoadSpec& load) { return load.path.empty() || name.starts_with(load.path + "."); };
    if (std::any_of(network.job.load.begin(), network.job.load.end(), is_of)) continue;  // the loaded model lacks it
    refuse("E0668 unlike-models", network.job.load.back(), fmt::format("no model is loaded for '{}'", name),
           {"help: load: \"members.0 = DIR, members.1 = DIR\" names a model for each part of the graph that is one"});
  }
}

// Checks that settings for a trained model only concern its use.
void check_settings_of_model(const ModelLayout& layout, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const std::string name = setting.substr(0, setting.find_first_of(".+="));
    if (name == "infer" || name == "report" || name == "product_precision") continue;
    throw UsageError(
        fmt::format("--set {}: of a trained model infer, report and product_precision can be set; its graph and data are "
                    "those of '{}'",
                    setting, layout.job()));
  }
}

}  // namespace

Model open_model(const std::string& path, const std::vector<std::string>& settings) {
  if (!is_file_there(path)) {
    const ModelLayout layout{path};
    check_settings_of_model(layout, settings);
    Network network = read_network(layout, settings);
    return {std::move(network), read_parameters(layout)};
  }
  LoadedJob job = load_job(path, settings);
  if (job.load.empty()) {
    throw UsageError(
        "'" + path +
        "' is not a model and loads none: graphrun train makes a model from a job, infer { load: \"DIR\" } loads it");
  }
  Model model{build_network(std::move(job)), {}};
  const ir::Graph graph = model.network.graph(false);
  std::vector<Diagnostic> of_training;  // training may have other feeds
  check_network(graph, graph, model.network, of_training);
  model.parameters = loaded_parameters(model.network.job);
  check_parameters(model.network, model.parameters);
  check_all_loaded(model.network, graph, model.parameters);
  Variables unused;
  set_parameters(compile(graph, {}), model.parameters, unused);  // reports a mismatch before any input is read
  return model;
}

}  // namespace graphrun
