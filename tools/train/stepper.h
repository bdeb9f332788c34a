// The compiled training step with its variables: computes one update after another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/execute/executable.h"
#include "runtime/program/watch.h"
#include "runtime/tensor/checkpoint.h"
#include "tools/data/batch.h"
#include "tools/data/feed_plan.h"
#include "tools/train/recipe.h"

namespace graphrun {

struct StepResult {
  double loss = 0;           // the objective, divided like its gradient
  double gradient_norm = 0;  // before clipping
};
// Returns the result of an update; call it once. On a device, it waits for this update, but not for later ones.
using StepOutcome = std::function<StepResult()>;

// The batches since the last update, if an update uses several; slots contain the sums of their gradients.
struct PendingBatches {
  std::int64_t batches = 0;
  double loss = 0, per = 0;
  friend bool operator==(const PendingBatches&, const PendingBatches&) = default;
};

// The figures that one batch adds to PendingBatches.
struct BatchFigures {
  double loss = 0, per = 0;
};

class Stepper {
 public:
  // `graph`: the network in training. Parameters are initialized by initializer_of, from the recipe's seed. Throws UserError
  // (kInvalidGraph): E0421 if the job lacks a feed, E0401 for an invalid objective, the compiler's errors. Patterns that match
  // nothing add to `warnings`.
  Stepper(const ir::Graph& graph, const Recipe& recipe, FeedPlan& plan, Target target, std::vector<Diagnostic>& warnings);

  // Adds a batch. Returns the outcome of update number `step` (from 0) if this batch completes it, or if its loss is not
  // finite. If an update uses several batches, waits for them.
  std::optional<StepOutcome> add(const Batch& batch, std::int64_t step, double learning_rate);
  // Whether add() may return before the update is done.
  bool runs_ahead() const { return !is_on_cpu() && update_ == nullptr; }
  bool is_on_cpu() const { return target_.device->is_cpu(); }
  const Device& device() const { return *target_.device; }
  // add() in two parts, for processes that share the batches of an update. Writes the gradients of this batch into the slots
  // sums(); if it `adds`, adds them to their contents. `number`: that of the batch in update `step`, from 0. `written`, on the
  // CPU: called during the run with the number of slots that have their values, the first ones of sums().
  BatchFigures gradients(const Batch& batch, std::int64_t step, std::int64_t number, bool adds,
                         const std::function<void(std::size_t slots)>& written);
  // Counts a batch. If it is the last one of its update, the slots must contain the sums over all batches of the update.
  // Returns what add() returns.
  std::optional<StepOutcome> count(const BatchFigures& batch, std::int64_t step, double learning_rate);
  // In the order in which gradients() finishes them.
  std::vector<std::string> sums() const;
  // Loads the states of the batch's part of a stream into the variables, or zeros if the batch is fresh. add() and gradients()
  // call it.
  void enter(const Batch& batch);
  // The states of a part of a stream, and their replacement. A state that was never computed is absent.
  NamedTensors states(std::int64_t part) const;
  void set_states(std::int64_t part, NamedTensors states);
  // For processes that each update slices of the parameters (ShardedUpdate). The options of training, and the trained
  // parameters in the order of global_norm's operands.
  const TrainOptions& options() const { return options_; }
  std::vector<std::string> trained() const;
  // The update of slices of the trained parameters; see TrainOptions::slices.
  std::unique_ptr<Executable> update_of(const std::vector<ParameterSlice>& slices, std::shared_ptr<Variables> variables) const;
  // Computes the update number `step` from 0, and returns the norm of the gradients.
  using Update = std::function<double(std::int64_t step, double learning_rate)>;
  // Makes `update` compute the updates from now on. restore() then passes slots that are not among the variables to
  // `take_slot`. Null: the stepper does both.
  using TakeSlot = std::function<void(const std::string& name, const Tensor& slot)>;
  void update_by(Update update, TakeSlot take_slot) { other_update_ = std::move(update), take_slot_ = std::move(take_slot); }
  // Makes an update from fewer batches than usual; nullopt if none are pending.
  std::optional<StepResult> finish(std::int64_t step, double learning_rate);
  // Allocates the memory that a batch like this needs; see Executable::reserve.
  void reserve(const Batch& batch);
  // Records the time of every node from now on; null stops it. Must outlive the steps.
  void profile(Profiler* profiler) { profiler_ = profiler; }
  // Runs what add() would do with the batch on copies of the variables, so that nothing changes, and shows `watch` every node
  // of the graph as written. Call enter() first. Sets the number of threads to 1 permanently.
  void watch(const Batch& batch, std::int64_t step, double learning_rate, Watch& watch) const;

  // Runs another program of the network with the feeds and random numbers of this batch, which has this number in update
  // `step`; both from 0. Call enter() first. Returns its fetches.
  std::vector<Tensor> run_beside(Executable& other, const Batch& batch, std::int64_t step, std::int64_t number) const;
  // Whether an update uses several batches.
  bool sums_batches() const { return update_ != nullptr; }
  // Whether the next batch that is added completes an update.
  bool completes_update() const { return pending_.batches + 1 >= accumulate_; }
  // The network, with the outputs that are minimized and that divide the gradient; the latter may be empty.
  const ir::Graph& graph() const { return graph_; }
  const std::string& objective() const { return options_.minimize; }
  const std::string& divisor() const { return options_.per; }

  const std::vector<std::string>& feeds() const { return feeds_; }
  // The descriptions of initializers; see apply_initializers.
  const std::vector<std::string>& beginnings() const { return beginnings_; }
  // A line for each factor of the learning rate, with its parameters.
  std::vector<std::string> rates() const;
  const Program& program() const { return executable_->program(); }
  const Variables& variables() const { return *variables_; }
  Variables& variables() { return *variables_; }
  std::int64_t parameter_count() const;
  std::size_t arena_bytes() const { return executable_->arena_bytes(); }
  // The parameters for a model after that many updates: moving averages if there are any, otherwise the current values.
  NamedTensors model_parameters(std::int64_t updates) const;

  // All variables that outlive a step, by kind: groups "parameters", "slots", "states"; for a stream with parts, instead of the
  // last one, "states-0", "states-1" and so on.
  std::map<std::string, NamedTensors> groups() const;
  const PendingBatches& pending() const { return pending_; }
  // Throws UserError (kBadData): E0662 if names or sizes differ from the network's; E0661 if more batches are pending than an
  // update uses.
  void restore(const CheckpointReader& checkpoint, const PendingBatches& pending);
  // The argument of go_back: parameters and slots of a checkpoint whose groups' names begin with `prefix`; empty if it has
  // none. Throws E0662 as above.
  std::map<std::string, NamedTensors> groups_of(const CheckpointReader& checkpoint, const std::string& prefix) const;
  // Restores parameters and slots from what groups() returned. Drops pending batches.
  void go_back(const std::map<std::string, NamedTensors>& groups);

 private:
  // A slot that gradients() writes, and the number of the program's instructions after which it has its value.
  struct Sum {
    std::string name;
    std::size_t done = 0;
  };
  std::vector<Sum> sums_in_order() const;
  std::string states_group(std::int64_t part) const;
  CompileOptions fetched() const;
  Program compiled(const Recipe& recipe) const;
  Program compiled_update(std::optional<std::vector<ParameterSlice>> slices) const;
  // `batch`: null if the program does not use one. `number`: how many batches the sums of gradients contain.
  Feeds feeds_of(const Program& program, const Batch* batch, std::int64_t step, double learning_rate,
                 std::int64_t number) const;
  // `number`: that of the batch in its update.
  RunOptions run_options(std::int64_t step, std::int64_t number) const;
  std::vector<const VariableSpec*> variable_specs() const;
  void restore_in_place(const CheckpointReader& checkpoint, VariableSpec::Kind kind);

  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::unique_ptr<Executable> executable_;  // for a batch: the whole step, or its gradients
  std::unique_ptr<Executable> update_;      // updates from the sums of several batches; null if a batch is an update
  Update other_update_;                     // computes updates instead; may be null
  TakeSlot take_slot_;
  std::vector<std::string> feeds_, beginnings_;
  TrainOptions options_;  // options of executable_
  ir::Graph graph_;       // with the objective
  Target target_;
  std::uint64_t seed_;
  std::int64_t accumulate_;
  std::vector<NamedTensors> states_;  // by part; those of `part_` are in the variables
  std::int64_t part_ = 0;
  PendingBatches pending_;
  Profiler* profiler_ = nullptr;
};

// Checks the tensors of a file against the variables of a kind.
class VariablesOfFile {
 public:
  // `where` names the file.
  VariablesOfFile(const std::vector<const VariableSpec*>& specs, VariableSpec::Kind kind, std::string where);
  // Whether this is one of the variables, and has its type and size.
  bool check(const std::string& name, const Tensor& tensor);
  // Throws UserError (kBadData, E0662) that lists what was missing, superfluous or of another size.
  void finish() const;

 private:
  const VariableSpec::Kind kind_;
  const std::string where_;
  std::map<std::string, const VariableSpec*> wanted_, missing_;
  std::map<std::string, std::string> unlike_;  // by name
  std::vector<std::string> surplus_;
};
// Sets the variables of a kind from `tensors`, which must have exactly those of `specs`. Throws what finish() throws.
void set_variables(const std::vector<const VariableSpec*>& specs, VariableSpec::Kind kind, const NamedTensors& tensors,
                   const std::string& where, Variables& variables);

}  // namespace graphrun
