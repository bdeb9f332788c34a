#include "tools/train/stepper.h"

#include <fmt/format.h>

#include "compiler/compile.h"
#include "compiler/passes/pass.h"
#include "runtime/threads.h"
#include "tools/model/evaluator.h"
#include "tools/train/initializers.h"

namespace graphrun {
namespace {

constexpr std::size_t kMostListed = 10;

std::string_view group_of(VariableSpec::Kind kind) {
  switch (kind) {
    case VariableSpec::Kind::kParameter: return "parameters";
    case VariableSpec::Kind::kSlot: return "slots";
    case VariableSpec::Kind::kState: return "states";
  }
  return "";
}

Tensor scalar(double value) { return Tensor::of<double>({}, {value}); }

}  // namespace

Stepper::Stepper(const ir::Graph& graph, const Recipe& recipe, const FeedPlan& plan, Device device,
                 std::vector<Diagnostic>& warnings)
    : graph_(graph), options_(recipe.options), device_(device), seed_(recipe.seed) {
  CompileOptions options;
  options.fetches = {recipe.options.minimize, kGradientNorm};
  Program program = compile(graph, options, &recipe.options);
  feeds_ = needed_feeds(program, plan);
  apply_initializers(recipe.initialize, program, warnings);
  initialize(program, *variables_, seed_);
  executable_ = std::make_unique<Executable>(std::move(program), variables_, device);
}

StepResult Stepper::step(const Batch& batch, std::int64_t step, double learning_rate) {
  if (batch.fresh) clear_states(executable_->program(), *variables_);
  const std::vector<Tensor> fetched =
      executable_->run(feeds_of(executable_->program(), batch, step, learning_rate), run_options(step));
  return {fetched[0].at(0), fetched[1].at(0)};
}

void Stepper::reserve(const Batch& batch) { executable_->reserve(feeds_of(executable_->program(), batch, 0, 0)); }

void Stepper::watch(const Batch& batch, std::int64_t step, double learning_rate, Watch& watch) const {
  set_threads(1);
  CompileOptions options;
  options.fetches = {options_.minimize, kGradientNorm};
  for (const Pass& pass : all_passes()) options.disabled_passes.push_back(pass.name);
  const auto variables = std::make_shared<Variables>();
  for (const auto& [name, tensor] : variables_->all()) variables->set(name, tensor.clone());
  Executable plain(compile(graph_, options, &options_), variables, device_);
  if (batch.fresh) clear_states(plain.program(), *variables);
  RunOptions run = run_options(step);
  run.watch = &watch;
  plain.run(feeds_of(plain.program(), batch, step, learning_rate), run);
}

Feeds Stepper::feeds_of(const Program& program, const Batch& batch, std::int64_t step, double learning_rate) const {
  Feeds feeds;
  for (const FeedSpec& feed : program.feeds) {
    if (feed.name == kLearningRate) {
      feeds[feed.name] = scalar(learning_rate);
    } else if (feed.name == kUpdateCount) {
      feeds[feed.name] = scalar(static_cast<double>(step + 1));
    } else {
      feeds[feed.name] = batch.feeds.at(feed.name);
    }
  }
  return feeds;
}

RunOptions Stepper::run_options(std::int64_t step) const {
  RunOptions options;
  options.seed = seed_;
  options.step = static_cast<std::uint64_t>(step);
  return options;
}

std::int64_t Stepper::parameter_count() const {
  std::int64_t count = 0;
  for (const VariableSpec& variable : executable_->program().variables) {
    if (variable.kind == VariableSpec::Kind::kParameter) count += variables_->at(variable.name).count();
  }
  return count;
}

std::map<std::string, NamedTensors> Stepper::groups() const {
  std::map<std::string, NamedTensors> groups;
  for (const VariableSpec& variable : executable_->program().variables) {
    if (variables_->has(variable.name))
      groups[std::string(group_of(variable.kind))][variable.name] = variables_->at(variable.name);
  }
  return groups;
}

void Stepper::restore(const CheckpointReader& checkpoint) {
  using Kind = VariableSpec::Kind;
  clear_states(executable_->program(), *variables_);
  for (const Kind kind : {Kind::kParameter, Kind::kSlot, Kind::kState}) {
    const std::string group(group_of(kind));
    const NamedTensors tensors = checkpoint.has_group(group) ? checkpoint.group(group) : NamedTensors();
    set_variables(executable_->program(), kind, tensors, checkpoint.folder() + "/" + group + ".safetensors", *variables_);
  }
}

void set_variables(const Program& program, VariableSpec::Kind kind, const NamedTensors& tensors, const std::string& where,
                   Variables& variables) {
  std::vector<std::string> faults;
  std::map<std::string, const VariableSpec*> wanted;
  for (const VariableSpec& variable : program.variables) {
    if (variable.kind == kind) wanted[variable.name] = &variable;
  }
  for (const auto& [name, variable] : wanted) {
    const auto it = tensors.find(name);
    // The sizes of a stream's state follow from the batch; one that was never made begins as zeros.
    const bool is_state = kind == VariableSpec::Kind::kState;
    if (it == tensors.end()) {
      if (!is_state) faults.push_back(fmt::format("missing: {} {}", name, str(variable->shape)));
    } else if (it->second.dtype() != variable->dtype || (!is_state && it->second.sizes() != evaluate(variable->shape, {}))) {
      faults.push_back(fmt::format("{} is {} {}, the graph's {} {}", name, name_of(it->second.dtype()), str(it->second.sizes()),
                                   name_of(variable->dtype), str(variable->shape)));
    } else {
      variables.set(name, it->second);
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (wanted.count(name) == 0) faults.push_back(fmt::format("surplus: {} {}", name, str(tensor.sizes())));
  }
  if (faults.empty()) return;
  std::vector<std::string> notes;
  for (const std::string& fault : faults) {
    if (notes.size() == kMostListed) {
      notes.push_back(fmt::format("note: and {} more", faults.size() - kMostListed));
      break;
    }
    notes.push_back("note: " + fault);
  }
  throw UserError(ExitCode::kBadData, "E0662 other-network", fmt::format("'{}' belongs to another graph", where), notes);
}

}  // namespace graphrun
