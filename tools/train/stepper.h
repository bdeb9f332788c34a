// One update after another: the compiled training step with its variables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/checkpoint.h"
#include "runtime/executable.h"
#include "runtime/watch.h"
#include "tools/data/batch.h"
#include "tools/data/feed_plan.h"
#include "tools/train/recipe.h"

namespace graphrun {

struct StepResult {
  double loss = 0;
  double gradient_norm = 0;  // before clipping
};

class Stepper {
 public:
  // `graph`: the network in training, which must outlive it. Parameters begin as the job's `initialize` says, else as the graph
  // does, from its seed. Throws UserError (kInvalidGraph): E0421 a feed that the job lacks, the compiler's; warnings for
  // patterns that match nothing go to `warnings`.
  Stepper(const ir::Graph& graph, const Recipe& recipe, const FeedPlan& plan, Device device, std::vector<Diagnostic>& warnings);

  // Update number `step` (from 0).
  StepResult step(const Batch& batch, std::int64_t step, double learning_rate);
  // Takes the memory that a step on this batch needs, see Executable::reserve.
  void reserve(const Batch& batch);
  // The same update as step(), shown to `watch` node by node as the graph has them, on copies of the variables: nothing
  // changes. Sets the number of threads to 1, for good.
  void watch(const Batch& batch, std::int64_t step, double learning_rate, Watch& watch) const;

  const std::vector<std::string>& feeds() const { return feeds_; }
  const Program& program() const { return executable_->program(); }
  const Variables& variables() const { return *variables_; }
  std::int64_t parameter_count() const;
  std::size_t arena_bytes() const { return executable_->arena_bytes(); }

  // All that outlives a step, by kind: groups "parameters", "slots", "states".
  std::map<std::string, NamedTensors> groups() const;
  // Throws UserError (kBadData, E0662) where names or sizes differ from the network's.
  void restore(const CheckpointReader& checkpoint);

 private:
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::unique_ptr<Executable> executable_;
  std::vector<std::string> feeds_;
  Feeds feeds_of(const Program& program, const Batch& batch, std::int64_t step, double learning_rate) const;
  RunOptions run_options(std::int64_t step) const;

  const ir::Graph& graph_;
  TrainOptions options_;
  Device device_;
  std::uint64_t seed_;
};

// Sets the parameters that `tensors` holds, all of `program` and no other. Throws UserError (kBadData, E0662) listing what is
// missing, surplus or of another size; `where` names the file.
void set_variables(const Program& program, VariableSpec::Kind kind, const NamedTensors& tensors, const std::string& where,
                   Variables& variables);

}  // namespace graphrun
