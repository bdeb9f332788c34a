// What `train { watch { … } }` records: gradients, updates and gates of one update, computed beside the run from copies of its
// variables, so that the run keeps its bits.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

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

  // Computes the figures of the batch that completes update `step` (from 0), before the update.
  void before(const Stepper& stepper, const Batch& batch, std::int64_t step);
  // The figures, after the update; `norm` is that of its gradient. An object with
  //  - "parameters", by name: "gradient" (its norm, divided as for the update), "weight" (the parameter's norm before the
  //    update), "update" (the norm of its change divided by "weight"), and a histogram of the gradient;
  //  - "gates", by name: "low" and "high", the shares of elements within 0.01 of the lower and the upper limit, and a
  //    histogram. Rows that the loss does not depend on, such as padding, do not count;
  //  - "states", by name: "gradient", the norms of the gradient of the state that each step reads, by the outermost step.
  // A histogram is "from", "to", "counts" of equal parts of that range, "mean" and "deviation".
  nlohmann::ordered_json after(const Stepper& stepper, double norm) const;

  // The gradients of the batch's states, as the objective gives them.
  struct StateGradient {
    std::string name;
    Tensor gradient;  // [steps, …]
  };
  const std::vector<StateGradient>& states() const { return state_gradients_; }
  // The means of the gates of that batch by step, over the rows that count; NaN where none does.
  const std::vector<std::pair<std::string, std::vector<double>>>& gates_by_step() const { return gate_steps_; }

 private:
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
  std::vector<StateGradient> state_gradients_;
  nlohmann::ordered_json gate_figures_;
  std::vector<std::pair<std::string, std::vector<double>>> gate_steps_;
  double per_ = 1;
};

// Twenty equal parts of a range.
nlohmann::ordered_json histogram_json(const std::vector<double>& values, double from, double to);

}  // namespace graphrun
