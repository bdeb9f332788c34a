// What `train { watch { … } }` records: gradients, updates and gates of one update, computed separately from copies of the
// run's variables, so that the run's results do not change.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/communicator/communicator.h"
#include "runtime/execute/executable.h"
#include "tools/data/batch.h"
#include "tools/train/recipe.h"
#include "tools/train/stepper.h"

namespace graphrun {

// The values of a network that a run watches: parameters, states of scans, and gates (the results of sigmoid and tanh) whose
// names match one of the patterns.
class Watcher {
 public:
  // Compiles the network with the gradients of what is watched. Patterns that match nothing add to `warnings` (E0422).
  Watcher(const Stepper& stepper, const std::vector<NamePattern>& patterns, Target target, std::vector<Diagnostic>& warnings);

  // Computes the figures of the batch that completes update `step` (from 0), before the update. `number`: that of the batch in
  // the update, from 0. Call Stepper::enter() first.
  void before(const Stepper& stepper, const Batch& batch, std::int64_t step, std::int64_t number);
  // The same for processes that share the batches of an update; all of them call it. The batch is that of process `owner`; it
  // is null in the others. Then the watcher of process 0 has the figures. Throws PeerEnd.
  void before(Communicator& together, int owner, Stepper& stepper, const Batch* batch, std::int64_t step, std::int64_t number);
  // The figures, after the update; `norm` is that of its gradient. If an update has several batches, the stepper's slots must
  // contain the sums of their gradients. An object with
  //  - "parameters", by name: "gradient" (its norm, divided as for the update), "weight" (the parameter's norm before the
  //    update), "update" (the norm of its change divided by "weight"), and a histogram of the gradient;
  //  - "gates", by name: "low" and "high", the shares of elements within 0.01 of the lower and the upper limit, and a
  //    histogram. Rows that the loss does not depend on, such as padding, do not count;
  //  - "states", by name: "gradient", the norms of the gradient of the state that each step reads, by the outermost step.
  // A histogram is "from", "to", "counts" of equal parts of that range, "mean" and "deviation".
  nlohmann::ordered_json after(const Stepper& stepper, double norm) const;

  // The means of the gates of that batch by step, over the rows that count; NaN where none does.
  const std::vector<std::pair<std::string, std::vector<double>>>& gates_by_step() const { return gate_steps_; }

 private:
  void keep_weights(const Stepper& stepper);

  struct Gate {
    std::string name;
    bool is_tanh = false;
    bool rows = false;  // its last axis holds the elements of a row
  };

  std::vector<std::string> parameters_, states_;
  std::vector<Gate> gates_;
  bool has_per_ = false;
  std::shared_ptr<Variables> variables_ = std::make_shared<Variables>();
  std::unique_ptr<Executable> executable_;
  // Of the last batch.
  std::vector<Tensor> gradients_, weights_;  // by parameter
  nlohmann::ordered_json gate_figures_, state_figures_;
  std::vector<std::pair<std::string, std::vector<double>>> gate_steps_;
  double per_ = 1;
};

// Twenty equal parts of a range. NaN is in none of them.
nlohmann::ordered_json histogram_json(const std::vector<double>& values, double from, double to);

}  // namespace graphrun
