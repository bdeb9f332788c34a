#include "tools/train/begin.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tools/data/told_at.h"
#include "tools/train/initializers.h"
#include "tools/train/word_vectors.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostTold = 10;

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

bool any_matches(const std::vector<NamePattern>& patterns, const std::string& name) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(), [&](const NamePattern& pattern) { return matches(pattern.text, name); });
}

class Beginning {
 public:
  Beginning(const Network& network, Stepper& stepper, std::vector<Diagnostic>& warnings, BeginNotes& notes)
      : network_(network), stepper_(stepper), warnings_(warnings), notes_(notes) {
    parameters_ = stepper.groups()["parameters"];
  }

  void take_vectors(const std::vector<InitializeRule>& rules) {
    for (const VariableSpec& variable : stepper_.program().variables) {
      if (variable.kind != VariableSpec::Kind::kParameter) continue;
      const InitializeRule* const rule = initializer_of(rules, variable, true);
      if (rule && !rule->vectors.empty()) take_vectors(*rule, variable.name, parameters_.at(variable.name));
    }
  }

  void take_model(const StartRule& rule) {
    const ModelLayout layout{rule.model};
    const Network other = told_at(rule.at, [&] { return read_network(layout); });
    const Parameters theirs = told_at(rule.at, [&] { return read_parameters(layout); });
    compare_vocabularies(rule, other);
    std::vector<std::string> loaded, missing, surplus, other_sizes;
    for (const auto& [name, tensor] : parameters_) {
      if (!any_matches(rule.match, name)) continue;
      const auto found = theirs.tensors.find(name);
      if (found == theirs.tensors.end()) {
        missing.push_back(name);
      } else if (found->second.sizes() != tensor.sizes()) {
        other_sizes.push_back(fmt::format("{} is {} there, {} here", name, str(found->second.sizes()), str(tensor.sizes())));
      } else {
        loaded.push_back(name);
      }
    }
    for (const auto& [name, tensor] : theirs.tensors) {
      if (any_matches(rule.match, name) && parameters_.count(name) == 0) surplus.push_back(name);
    }
    if (!other_sizes.empty() || loaded.empty() || (!rule.partial && (!missing.empty() || !surplus.empty()))) {
      refuse(rule, missing, surplus, other_sizes);
    }
    for (const std::string& name : loaded) {
      const Tensor& tensor = theirs.tensors.at(name);
      const DType dtype = parameters_.at(name).dtype();
      stepper_.variables().set(name, tensor.dtype() == dtype ? tensor.clone() : tensor.converted(dtype));
    }
    notes_.log.push_back(fmt::format("start: from '{}': loaded {}; missing there: {}; surplus there: {}", rule.model,
                                     listed(loaded), listed(missing), listed(surplus)));
    notes_.metrics.push_back({{"start", {{"loaded", loaded}, {"missing", missing}, {"surplus", surplus}}}});
  }

 private:
  void take_vectors(const InitializeRule& rule, const std::string& name, const Tensor& tensor) {
    const Vocabulary& vocabulary = network_.vocabularies.at(rule.field);
    if (tensor.sizes().size() != 2 || tensor.sizes()[0] != vocabulary.size()) {
      throw UserError(
          ExitCode::kInvalidGraph,
          std::vector<Diagnostic>{{Severity::kError,
                                   "E0313 bad-initializer",
                                   rule.match.at,
                                   fmt::format("'{}' of shape {} has no row for each of the {} entries of field '{}'", name,
                                               str(tensor.sizes()), vocabulary.size(), rule.field),
                                   {"help: vectors are rows of a matrix [vocabulary, width]"}}});
    }
    Tensor rows = tensor.clone();
    const VectorCoverage coverage = told_at(rule.vectors_at, [&] {
      return read_word_vectors({rule.vectors, rule.lowercase}, vocabulary, rows);
    });
    stepper_.variables().set(name, rows);
    const std::int64_t all = vocabulary.size();
    notes_.log.push_back(fmt::format(
        "vectors: {} from '{}': {} of {} entries of '{}' ({:.1f} %){}", name, rule.vectors, coverage.found, all, rule.field,
        100.0 * static_cast<double>(coverage.found) / static_cast<double>(std::max<std::int64_t>(all, 1)),
        rule.lowercase ? fmt::format(", {} of them lower-cased", coverage.lowercased) : ""));
    notes_.metrics.push_back({{"vectors",
                               {{"parameter", name},
                                {"file", file_name(rule.vectors)},
                                {"entries", all},
                                {"found", coverage.found},
                                {"lowercased", coverage.lowercased}}}});
  }

  // A row of a parameter may belong to another word there, which sizes do not reveal.
  void compare_vocabularies(const StartRule& rule, const Network& other) {
    for (const auto& [field, vocabulary] : network_.vocabularies) {
      const auto theirs = other.vocabularies.find(field);
      if (theirs == other.vocabularies.end() || theirs->second.entries() == vocabulary.entries()) continue;
      warnings_.push_back({Severity::kWarning,
                           "E0669 unlike-start",
                           rule.at,
                           fmt::format("the vocabulary of '{}' in '{}' differs: {} entries, here {}", field, rule.model,
                                       theirs->second.size(), vocabulary.size()),
                           {"help: vocabulary { file: … } with that model's vocabularies/" + field + ".txt is the same one"}});
    }
  }

  [[noreturn]] static void refuse(const StartRule& rule, const std::vector<std::string>& missing,
                                  const std::vector<std::string>& surplus, const std::vector<std::string>& other_sizes) {
    std::vector<std::string> notes;
    for (const std::string& what : other_sizes) notes.push_back("note: " + what);
    for (const std::string& name : missing) notes.push_back("note: missing there: " + name);
    for (const std::string& name : surplus) notes.push_back("note: surplus there: " + name);
    if (notes.empty()) notes.push_back("note: no parameter matches its patterns");
    if (notes.size() > kMostTold) {
      const std::size_t more = notes.size() - kMostTold;
      notes.resize(kMostTold);
      notes.push_back(fmt::format("note: and {} more", more));
    }
    notes.push_back("help: match names what is to be loaded; partial: true leaves out what only one of the two has");
    throw UserError(ExitCode::kBadData,
                    {{Severity::kError, "E0669 unlike-start", rule.at,
                      fmt::format("the model '{}' has different parameters from this network", rule.model), std::move(notes)}});
  }

  const Network& network_;
  Stepper& stepper_;
  std::vector<Diagnostic>& warnings_;
  BeginNotes& notes_;
  NamedTensors parameters_;
};

}  // namespace

BeginNotes begin_parameters(const Recipe& recipe, const Network& network, Stepper& stepper, std::vector<Diagnostic>& warnings) {
  BeginNotes notes;
  Beginning(network, stepper, warnings, notes).take_vectors(recipe.initialize);
  for (const StartRule& rule : recipe.start) Beginning(network, stepper, warnings, notes).take_model(rule);
  return notes;
}

}  // namespace graphrun
