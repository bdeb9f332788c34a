#include "tools/model/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tools/model/evaluator.h"

namespace graphrun {
namespace {

GenerationSpec cut_of(const GenerateSpec& spec) { return {spec.scan, spec.feed, spec.score, {}}; }

// The feed with each row's own number of steps of a size; null: none has it.
const ir::Input* lengths_of(const ir::Graph& graph, Symbol size) {
  for (const ir::Input& input : graph.inputs) {
    if (input.lengths_of == size) return &input;
  }
  return nullptr;
}

Diagnostic problem(const Location& at, std::string text, std::vector<std::string> notes = {}) {
  return {Severity::kError, "E0417 bad-infer", at, std::move(text), std::move(notes)};
}

void check_words(const Network& network, const InferSpec& mode, std::int64_t scored, std::vector<Diagnostic>& problems) {
  const auto found = network.vocabularies.find(mode.field);
  if (found == network.vocabularies.end()) return;  // said already
  const Vocabulary& vocabulary = found->second;
  for (const std::string* entry : {&mode.generate->begin, &mode.generate->end}) {
    if (vocabulary.has(*entry)) continue;
    problems.push_back(problem(mode.generate->at,
                               fmt::format("'{}' is no entry of the vocabulary of field '{}'", *entry, mode.field),
                               {"help: a feed puts it there, \"previous = ['<s>', text], target = [text, '</s>']\""}));
  }
  if (scored != vocabulary.size()) {
    problems.push_back(problem(mode.generate->at, fmt::format("'{}' scores {} words, but the vocabulary of field '{}' has {}",
                                                              mode.generate->score, scored, mode.field, vocabulary.size())));
  }
}

}  // namespace

void check_generate(const ir::Graph& graph, const Network& network, const InferSpec& mode, std::vector<Diagnostic>& problems) {
  try {
    const GenerationGraphs cut = cut_for_generation(graph, cut_of(*mode.generate));
    check_words(network, mode, cut.step.type(cut.step.output(kScoreOutput)->value).shape[1].constant(), problems);
    for (Symbol size : mode.generate->max_length.symbols()) {
      if (lengths_of(cut.prologue, size) != nullptr) continue;
      problems.push_back(problem(
          mode.generate->at, fmt::format("max_length: no input that generation reads holds the lengths of '{}'", size.name()),
          {"help: a size counts each line's own steps, which an input with `lengths_of` tells"}));
    }
  } catch (const UserError& error) {
    for (Diagnostic d : error.diagnostics()) {
      if (!d.at.known()) d.at = mode.generate->at;
      problems.push_back(std::move(d));
    }
  }
}

Generator::Generator(const ir::Graph& graph, const Network& network, const InferSpec& mode, const Parameters& parameters,
                     Device device)
    : Generator(graph, network, mode, device) {
  set_parameters(model_->prologue(), parameters, *variables_);
  set_parameters(model_->steps(), parameters, *variables_);
}

void Generator::take(const Variables& parameters) {
  for (const Program* program : {&model_->prologue(), &model_->steps()}) {
    for (const VariableSpec& variable : program->variables) {
      if (variable.kind == VariableSpec::Kind::kParameter) variables_->set(variable.name, parameters.at(variable.name));
    }
  }
}

Generator::Generator(const ir::Graph& graph, const Network& network, const InferSpec& mode, Device device) : mode_(mode) {
  std::vector<Diagnostic> problems;
  check_generate(graph, network, mode_, problems);
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
  const GenerationGraphs cut = cut_for_generation(graph, cut_of(spec()));
  const std::int64_t most = spec().beam + (spec().min_length > 0 ? 1 : 0);
  model_ = std::make_unique<StepRunner>(cut, std::vector<std::string>(), most, variables_, device);
  feeds_ = needed_feeds(model_->prologue(), *network.job.plan);
  for (Symbol size : spec().max_length.symbols()) {
    const std::string feed = cut.prologue.value(lengths_of(cut.prologue, size)->value).name;
    lengths_.emplace_back(size, feed);
    if (std::find(feeds_.begin(), feeds_.end(), feed) == feeds_.end()) feeds_.push_back(feed);
  }
  const Vocabulary& vocabulary = network.vocabularies.at(mode_.field);
  begin_ = vocabulary.number(spec().begin), end_ = vocabulary.number(spec().end);
}

// Each row's own, whatever else is in the batch.
std::vector<std::int64_t> Generator::most_words(const Batch& batch) const {
  std::vector<std::int64_t> most;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    SymbolValues sizes;
    for (const auto& [size, feed] : lengths_) sizes[size] = static_cast<std::int64_t>(batch.feeds.at(feed).at(row));
    most.push_back(std::clamp<std::int64_t>(spec().max_length.evaluate(sizes), 0, std::numeric_limits<std::int32_t>::max()));
  }
  return most;
}

std::vector<std::vector<Hypothesis>> Generator::run(const Batch& batch) {
  SearchOptions options;
  options.begin = begin_, options.end = end_;
  options.beam = spec().beam, options.n_best = spec().n_best, options.min_length = spec().min_length;
  options.max_length = most_words(batch);
  options.norm = spec().norm;
  const std::int64_t steps = *std::max_element(options.max_length.begin(), options.max_length.end()) + 1;
  model_->begin(batch.feeds, batch.rows, steps);
  return beam_search(*model_, batch.rows, options);
}

}  // namespace graphrun
