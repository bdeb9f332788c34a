#include "tools/train/stepper.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "compiler/compile.h"
#include "compiler/passes/pass.h"
#include "runtime/threads/threads.h"
#include "tools/data/told_at.h"
#include "tools/model/evaluator.h"
#include "tools/train/initializers.h"
#include "tools/train/objective.h"

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

Stepper::Stepper(const ir::Graph& graph, const Recipe& recipe, FeedPlan& plan, Target target, std::vector<Diagnostic>& warnings)
    : options_(recipe.options),
      target_(target),
      seed_(recipe.seed),
      accumulate_(recipe.accumulate),
      states_(static_cast<std::size_t>(recipe.parts)) {
  using Part = TrainOptions::Part;
  graph_ = with_objective(graph, recipe, options_, warnings);
  options_.part = accumulate_ == 1 ? Part::kWhole : Part::kGradients;
  Program program = compiled(recipe);
  feeds_ = need_feeds(program, plan);
  beginnings_ = apply_initializers(recipe.initialize, program, warnings);
  initialize(program, *variables_, seed_);
  executable_ = std::make_unique<Executable>(std::move(program), variables_, target_);
  if (options_.part == Part::kWhole) return;
  program = compiled_update(std::nullopt);
  initialize(program, *variables_, seed_);
  update_ = std::make_unique<Executable>(std::move(program), variables_, target_);
}

// If nothing is left to train, the error is at the pattern that freezes, otherwise at the objective.
Program Stepper::compiled(const Recipe& recipe) const {
  const auto freezes = [&](const NamePattern& pattern) {
    return std::any_of(graph_.variables.begin(), graph_.variables.end(), [&](const ir::Variable& variable) {
      return variable.kind == ir::Variable::Kind::kParameter && matches(pattern.text, graph_.value(variable.value).name);
    });
  };
  const auto pattern = std::find_if(recipe.freeze.begin(), recipe.freeze.end(), freezes);
  const Location at = pattern != recipe.freeze.end() ? pattern->at : recipe.minimize.at(0, recipe.minimize.text.size());
  return told_at(at, [&] { return compile(graph_, fetched(), &options_); });
}

// `slices`: see TrainOptions.
Program Stepper::compiled_update(std::optional<std::vector<ParameterSlice>> slices) const {
  TrainOptions update = options_;
  update.part = TrainOptions::Part::kUpdate;
  update.slices = std::move(slices);
  CompileOptions norm;
  norm.fetches = {kGradientNorm};
  return compile(graph_, norm, &update);
}

// The fetches for a batch: the objective, its divisor and, if it is also an update, the norm.
CompileOptions Stepper::fetched() const {
  CompileOptions options;
  options.fetches = {options_.minimize};
  if (!options_.per.empty() && options_.per != options_.minimize) options.fetches.push_back(options_.per);
  if (options_.part == TrainOptions::Part::kWhole) options.fetches.push_back(kGradientNorm);
  return options;
}

Feeds Stepper::feeds_of(const Program& program, const Batch* batch, std::int64_t step, double learning_rate,
                        std::int64_t number) const {
  Feeds feeds;
  for (const FeedSpec& feed : program.feeds) {
    if (feed.name == kLearningRate) {
      feeds[feed.name] = scalar(learning_rate);
    } else if (feed.name == kUpdateCount) {
      feeds[feed.name] = scalar(static_cast<double>(step + 1));
    } else if (feed.name == kKeepSums) {
      feeds[feed.name] = scalar(number > 0 ? 1 : 0);
    } else {
      feeds[feed.name] = batch->feeds.at(feed.name);
    }
  }
  return feeds;
}

RunOptions Stepper::run_options(std::int64_t step, std::int64_t number) const {
  RunOptions options;
  options.seed = seed_;
  options.step = static_cast<std::uint64_t>(step * accumulate_ + number);
  options.profiler = profiler_;
  return options;
}

void Stepper::reserve(const Batch& batch) { executable_->reserve(feeds_of(executable_->program(), &batch, 0, 0, 0)); }

void Stepper::watch(const Batch& batch, std::int64_t step, double learning_rate, Watch& watch) const {
  const ScopedThreads one_thread(1);  // a watched run has only one
  CompileOptions options = fetched();
  options.disabled_passes = names_to_disable();
  const auto variables = std::make_shared<Variables>();
  for (const auto& [name, tensor] : variables_->all()) variables->set(name, tensor.clone());
  const Target cpu(cpu_device(), WeightForm::kFloat32, target_.products);  // the only device that can be watched
  Executable plain(compile(graph_, options, &options_), variables, cpu);
  RunOptions run = run_options(step, pending_.batches);
  run.watch = &watch;
  run.profiler = nullptr;  // this recomputation is not part of training
  plain.run(feeds_of(plain.program(), &batch, step, learning_rate, pending_.batches), run);
}

std::vector<Tensor> Stepper::run_beside(Executable& other, const Batch& batch, std::int64_t step, std::int64_t number) const {
  RunOptions run = run_options(step, number);
  run.profiler = nullptr;  // it is not part of training
  return other.run(feeds_of(other.program(), &batch, step, 0, number), run);
}

std::optional<StepOutcome> Stepper::add(const Batch& batch, std::int64_t step, double learning_rate) {
  enter(batch);
  const auto run = std::make_shared<Executable::Started>(executable_->start(
      feeds_of(executable_->program(), &batch, step, learning_rate, pending_.batches), run_options(step, pending_.batches)));
  const std::size_t losses =
      executable_->program().fetches.size() - (update_ ? 0 : 1);  // minimize, and per if it is another output
  const auto per_of = [losses](const std::vector<Tensor>& fetched) { return losses > 1 ? fetched[1].at(0) : 1; };
  if (!update_) {
    return [run, per_of] {
      const std::vector<Tensor> fetched = run->finish();
      return StepResult{fetched[0].at(0) / per_of(fetched), fetched.back().at(0)};
    };
  }
  const std::vector<Tensor> fetched = run->finish();
  return count({fetched[0].at(0), per_of(fetched)}, step, learning_rate);
}

std::optional<StepOutcome> Stepper::count(const BatchFigures& batch, std::int64_t step, double learning_rate) {
  const auto known = [](const StepResult& result) { return StepOutcome([result] { return result; }); };
  if (!std::isfinite(batch.loss)) return known({batch.loss / batch.per, std::numeric_limits<double>::quiet_NaN()});
  ++pending_.batches;
  pending_.loss += batch.loss;
  pending_.per += batch.per;
  if (pending_.batches < accumulate_) return std::nullopt;
  return known(*finish(step, learning_rate));
}

BatchFigures Stepper::gradients(const Batch& batch, std::int64_t step, std::int64_t number, bool adds,
                                const std::function<void(std::size_t)>& written) {
  GRAPHRUN_CHECK(update_ != nullptr, "gradients: one batch is one update");
  enter(batch);
  RunOptions options = run_options(step, number);
  const std::vector<Sum> sums = sums_in_order();
  std::size_t finished = 0;
  options.progress = [&](std::size_t done) {
    const std::size_t before = finished;
    while (finished < sums.size() && sums[finished].done <= done) ++finished;
    if (finished > before) written(finished);
  };
  const std::vector<Tensor> fetched =
      executable_->run(feeds_of(executable_->program(), &batch, step, 0, adds ? 1 : 0), options);
  return {fetched[0].at(0), fetched.size() > 1 ? fetched[1].at(0) : 1};
}

void Stepper::enter(const Batch& batch) {
  if (batch.part != part_) {
    NamedTensors& left = states_[static_cast<std::size_t>(part_)];
    left = states(part_);
    part_ = batch.part;
    set_states(part_, std::exchange(states_[static_cast<std::size_t>(part_)], {}));
  }
  if (batch.fresh) clear_states(executable_->program(), *variables_);
}

NamedTensors Stepper::states(std::int64_t part) const {
  if (part != part_) return states_[static_cast<std::size_t>(part)];
  NamedTensors states;
  for (const VariableSpec& variable : executable_->program().variables) {
    const bool is_there = variable.kind == VariableSpec::Kind::kState && variables_->has(variable.name);
    if (is_there) states[variable.name] = variables_->at(variable.name);
  }
  return states;
}

void Stepper::set_states(std::int64_t part, NamedTensors states) {
  if (part != part_) {
    states_[static_cast<std::size_t>(part)] = std::move(states);
    return;
  }
  clear_states(executable_->program(), *variables_);
  for (auto& [name, tensor] : states) variables_->set(name, std::move(tensor));
}

std::string Stepper::states_group(std::int64_t part) const {
  const std::string group(group_of(VariableSpec::Kind::kState));
  return states_.size() == 1 ? group : fmt::format("{}-{}", group, part);
}

std::vector<Stepper::Sum> Stepper::sums_in_order() const {
  const Program& program = executable_->program();
  const std::vector<std::size_t> done = last_writes(program);
  std::vector<Sum> sums;
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    if (program.variables[i].kind == VariableSpec::Kind::kSlot) sums.push_back({program.variables[i].name, done[i]});
  }
  std::stable_sort(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) { return a.done < b.done; });
  return sums;
}

std::vector<std::string> Stepper::sums() const {
  std::vector<std::string> names;
  for (const Sum& sum : sums_in_order()) names.push_back(sum.name);
  return names;
}

std::vector<std::string> Stepper::trained() const {
  std::vector<std::string> names;
  for (const VariableSpec& variable : executable_->program().variables) {
    if (variable.kind != VariableSpec::Kind::kSlot || variable.name == kPerSlot) continue;
    names.push_back(variable.name.substr(0, variable.name.size() - std::string_view(kGradientSlot).size()));
  }
  return names;
}

std::unique_ptr<Executable> Stepper::update_of(const std::vector<ParameterSlice>& slices,
                                               std::shared_ptr<Variables> variables) const {
  return std::make_unique<Executable>(compiled_update(slices), std::move(variables), target_);
}

std::optional<StepResult> Stepper::finish(std::int64_t step, double learning_rate) {
  if (pending_.batches == 0) return std::nullopt;
  const auto update = [&] {
    RunOptions run;
    run.profiler = profiler_;
    return update_->run(feeds_of(update_->program(), nullptr, step, learning_rate, pending_.batches), run)[0].at(0);
  };
  const double norm = other_update_ ? other_update_(step, learning_rate) : update();
  const StepResult result{pending_.loss / pending_.per, norm};
  pending_ = {};
  return result;
}

// The variables of both programs, each name once.
std::vector<const VariableSpec*> Stepper::variable_specs() const {
  std::map<std::string_view, const VariableSpec*> specs;
  for (const VariableSpec& variable : executable_->program().variables) specs.emplace(variable.name, &variable);
  if (update_) {
    for (const VariableSpec& variable : update_->program().variables) specs.emplace(variable.name, &variable);
  }
  std::vector<const VariableSpec*> all;
  for (const auto& [name, spec] : specs) all.push_back(spec);
  return all;
}

std::vector<std::string> Stepper::rates() const {
  std::map<double, std::vector<std::string>> names;
  for (const auto& [name, factor] : options_.rate_factors) names[factor].push_back(name);
  std::vector<std::string> lines;
  for (const auto& [factor, of] : names) lines.push_back(fmt::format("times {}: {}", factor, fmt::join(of, ", ")));
  return lines;
}

std::int64_t Stepper::parameter_count() const {
  std::int64_t count = 0;
  for (const VariableSpec* variable : variable_specs()) {
    if (variable->kind == VariableSpec::Kind::kParameter) count += variables_->at(variable->name).count();
  }
  return count;
}

NamedTensors Stepper::model_parameters(std::int64_t updates) const {
  NamedTensors parameters;
  for (const VariableSpec* variable : variable_specs()) {
    if (variable->kind != VariableSpec::Kind::kParameter) continue;
    const std::string average = variable->name + kAverageSlot;
    parameters[variable->name] = variables_->at(updates > 0 && variables_->has(average) ? average : variable->name);
  }
  return parameters;
}

std::map<std::string, NamedTensors> Stepper::groups() const {
  std::map<std::string, NamedTensors> groups;
  for (const VariableSpec* variable : variable_specs()) {
    if (variable->kind != VariableSpec::Kind::kState && variables_->has(variable->name)) {
      groups[std::string(group_of(variable->kind))][variable->name] = variables_->at(variable->name);
    }
  }
  for (std::size_t part = 0; part < states_.size(); ++part) {
    NamedTensors of_part = states(static_cast<std::int64_t>(part));
    if (!of_part.empty()) groups[states_group(static_cast<std::int64_t>(part))] = std::move(of_part);
  }
  return groups;
}

void Stepper::restore(const CheckpointReader& checkpoint, const PendingBatches& pending) {
  using Kind = VariableSpec::Kind;
  if (pending.batches < 0 || pending.batches >= accumulate_) {
    throw UserError(ExitCode::kBadData, "E0661 bad-state",
                    fmt::format("'{}/state.json' has {} batches of an update in progress; an update here has {}",
                                checkpoint.folder(), pending.batches, accumulate_));
  }
  for (const Kind kind : {Kind::kParameter, Kind::kSlot}) restore_in_place(checkpoint, kind);
  for (std::size_t part = 0; part < states_.size(); ++part) {
    const std::string group = states_group(static_cast<std::int64_t>(part));
    const NamedTensors tensors = checkpoint.has_group(group) ? checkpoint.group(group) : NamedTensors();
    Variables states;
    set_variables(variable_specs(), Kind::kState, tensors, checkpoint.folder() + "/" + group + ".safetensors", states);
    set_states(static_cast<std::int64_t>(part), states.all());
  }
  pending_ = pending;
}

// Tensor by tensor, so that no second copy of all of them is needed.
void Stepper::restore_in_place(const CheckpointReader& checkpoint, VariableSpec::Kind kind) {
  const std::string group(group_of(kind));
  VariablesOfFile file(variable_specs(), kind, checkpoint.folder() + "/" + group + ".safetensors");
  const auto restore = [&](const std::string& name, Tensor tensor) {
    if (!file.check(name, tensor)) return;
    if (variables_->has(name) && variables_->at(name).sizes() == tensor.sizes()) {
      const Tensor& place = variables_->at(name);
      std::memcpy(place.raw(), tensor.raw(), tensor.bytes());
      place.mark_written();
    } else if (take_slot_) {
      take_slot_(name, tensor);
    } else {
      variables_->set(name, std::move(tensor));
    }
  };
  if (checkpoint.has_group(group)) checkpoint.group(group, restore);
  file.finish();
}

std::map<std::string, NamedTensors> Stepper::groups_of(const CheckpointReader& checkpoint, const std::string& prefix) const {
  using Kind = VariableSpec::Kind;
  std::map<std::string, NamedTensors> groups;
  for (const Kind kind : {Kind::kParameter, Kind::kSlot}) {
    const std::string group(group_of(kind));
    if (checkpoint.has_group(prefix + group)) groups[group] = checkpoint.group(prefix + group);
  }
  if (groups.empty()) return groups;
  for (const Kind kind : {Kind::kParameter, Kind::kSlot}) {
    const std::string group(group_of(kind));
    Variables held_against_the_network;
    set_variables(variable_specs(), kind, groups[group], checkpoint.folder() + "/" + prefix + group + ".safetensors",
                  held_against_the_network);
  }
  return groups;
}

void Stepper::go_back(const std::map<std::string, NamedTensors>& groups) {
  for (const auto& [group, tensors] : groups) {
    for (const auto& [name, tensor] : tensors) variables_->set(name, tensor.clone());
  }
  pending_ = {};
}

VariablesOfFile::VariablesOfFile(const std::vector<const VariableSpec*>& specs, VariableSpec::Kind kind, std::string where)
    : kind_(kind), where_(std::move(where)) {
  for (const VariableSpec* variable : specs) {
    if (variable->kind == kind) wanted_[variable->name] = variable;
  }
  missing_ = wanted_;
}

// The sizes of a stream's state follow from the batch.
bool VariablesOfFile::check(const std::string& name, const Tensor& tensor) {
  const auto it = wanted_.find(name);
  if (it == wanted_.end()) {
    surplus_.push_back(fmt::format("surplus: {} {}", name, str(tensor.sizes())));
    return false;
  }
  missing_.erase(name);
  const VariableSpec& variable = *it->second;
  const bool is_state = kind_ == VariableSpec::Kind::kState;
  if (tensor.dtype() == variable.dtype && (is_state || tensor.sizes() == evaluate(variable.shape, {}))) return true;
  unlike_[name] = fmt::format("{} is {} {}, the graph's {} {}", name, name_of(tensor.dtype()), str(tensor.sizes()),
                              name_of(variable.dtype), str(variable.shape));
  return false;
}

void VariablesOfFile::finish() const {
  std::map<std::string, std::string> of_wanted = unlike_;
  // A state that was never computed begins as zeros.
  if (kind_ != VariableSpec::Kind::kState) {
    for (const auto& [name, variable] : missing_) of_wanted[name] = fmt::format("missing: {} {}", name, str(variable->shape));
  }
  std::vector<std::string> faults;
  for (const auto& [name, fault] : of_wanted) faults.push_back(fault);
  faults.insert(faults.end(), surplus_.begin(), surplus_.end());
  if (faults.empty()) return;
  std::vector<std::string> notes;
  for (const std::string& fault : faults) {
    if (notes.size() == kMostListed) {
      notes.push_back(fmt::format("note: and {} more", faults.size() - kMostListed));
      break;
    }
    notes.push_back("note: " + fault);
  }
  throw UserError(ExitCode::kBadData, "E0662 other-network", fmt::format("'{}' belongs to another graph", where_), notes);
}

void set_variables(const std::vector<const VariableSpec*>& specs, VariableSpec::Kind kind, const NamedTensors& tensors,
                   const std::string& where, Variables& variables) {
  VariablesOfFile file(specs, kind, where);
  for (const auto& [name, tensor] : tensors) {
    if (file.check(name, tensor)) variables.set(name, tensor);
  }
  file.finish();
}

}  // namespace graphrun
