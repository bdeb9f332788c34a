// One update after another: the compiled training step with its variables.
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
  double loss = 0;           // what is minimized, divided as its gradient is
  double gradient_norm = 0;  // before clipping
};
// What an update came to, asked for once: where it runs on a device, that waits for it, and not for what was begun after it.
using StepOutcome = std::function<StepResult()>;

// The batches since the last update, where one update sees several; their gradients' sums are slots.
struct PendingBatches {
  std::int64_t batches = 0;
  double loss = 0, per = 0;
  friend bool operator==(const PendingBatches&, const PendingBatches&) = default;
};

// What a batch adds to those.
struct BatchFigures {
  double loss = 0, per = 0;
};

class Stepper {
 public:
  // `graph`: the network in training. Parameters begin as initializer_of says, from the recipe's seed.
  // Throws UserError (kInvalidGraph): E0421 a feed that the job lacks, E0401 what can't be minimized, the compiler's; warnings
  // for patterns that match nothing go to `warnings`.
  Stepper(const ir::Graph& graph, const Recipe& recipe, FeedPlan& plan, Target target, std::vector<Diagnostic>& warnings);

  // One batch more. Gives what comes of update number `step` (from 0) where this batch completes it, or where its loss is not
  // finite. Where one update sees several batches they are waited for.
  std::optional<StepOutcome> add(const Batch& batch, std::int64_t step, double learning_rate);
  // Whether add() may return before the update is done.
  bool runs_ahead() const { return !target_.device->is_cpu() && update_ == nullptr; }
  // add() in two parts, for processes that share the batches of an update. The gradients of a batch alone are then in the slots
  // `sums()`; it is number `number` of update `step`, from 0.
  BatchFigures gradients(const Batch& batch, std::int64_t step, std::int64_t number);
  // Counts a batch, once those slots hold the sums up to the last one of its update; gives what add() gives.
  std::optional<StepOutcome> count(const BatchFigures& batch, std::int64_t step, double learning_rate);
  std::vector<std::string> sums() const;
  // The update of fewer batches than one should see; nothing where none are pending.
  std::optional<StepResult> finish(std::int64_t step, double learning_rate);
  // Takes the memory that a batch like this needs, see Executable::reserve.
  void reserve(const Batch& batch);
  // Takes note of every node's time from now on; null: no longer. Must outlive the steps.
  void profile(Profiler* profiler) { profiler_ = profiler; }
  // What add() would do with the batch, shown to `watch` node by node as the graph has them, on copies of the variables:
  // nothing changes. Sets the number of threads to 1, for good.
  void watch(const Batch& batch, std::int64_t step, double learning_rate, Watch& watch) const;

  const std::vector<std::string>& feeds() const { return feeds_; }
  // What says how parameters begin, see apply_initializers.
  const std::vector<std::string>& beginnings() const { return beginnings_; }
  // A line for each factor of the learning rate, with the parameters that have it.
  std::vector<std::string> rates() const;
  const Program& program() const { return executable_->program(); }
  const Variables& variables() const { return *variables_; }
  Variables& variables() { return *variables_; }
  std::int64_t parameter_count() const;
  std::size_t arena_bytes() const { return executable_->arena_bytes(); }
  // The parameters that a model takes after so many updates: moving averages where there are such, else as they are.
  NamedTensors model_parameters(std::int64_t updates) const;

  // All that outlives a step, by kind: groups "parameters", "slots", "states".
  std::map<std::string, NamedTensors> groups() const;
  const PendingBatches& pending() const { return pending_; }
  // Throws UserError (kBadData): E0662 where names or sizes differ from the network's; E0661 where more batches are pending
  // than an update here has.
  void restore(const CheckpointReader& checkpoint, const PendingBatches& pending);
  // What go_back takes: parameters and slots of a checkpoint that have `prefix` before their group's name; nothing where it has
  // none. Throws E0662 as above.
  std::map<std::string, NamedTensors> groups_of(const CheckpointReader& checkpoint, const std::string& prefix) const;
  // Parameters and slots as they were when groups() gave these. Batches that are pending are dropped.
  void go_back(const std::map<std::string, NamedTensors>& groups);

 private:
  CompileOptions fetched() const;
  Program compiled(const Recipe& recipe) const;
  // `batch`: null where the program sees none. `number`: of the batches that the sums of gradients have.
  Feeds feeds_of(const Program& program, const Batch* batch, std::int64_t step, double learning_rate,
                 std::int64_t number) const;
  // `number`: of the batch in its update.
  RunOptions run_options(std::int64_t step, std::int64_t number) const;
  std::vector<const VariableSpec*> variable_specs() const;

  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::unique_ptr<Executable> executable_;  // of a batch: the whole step, or its gradients
  std::unique_ptr<Executable> update_;      // of the sums of several batches; null: one batch is one update
  std::vector<std::string> feeds_, beginnings_;
  TrainOptions options_;  // of executable_
  ir::Graph graph_;       // with what is minimized
  Target target_;
  std::uint64_t seed_;
  std::int64_t accumulate_;
  PendingBatches pending_;
  Profiler* profiler_ = nullptr;
};

// Sets the variables of a kind that `tensors` holds, all of `specs` and no other. Throws UserError (kBadData, E0662) listing
// what is missing, surplus or of another size; `where` names the file.
void set_variables(const std::vector<const VariableSpec*>& specs, VariableSpec::Kind kind, const NamedTensors& tensors,
                   const std::string& where, Variables& variables);

}  // namespace graphrun
