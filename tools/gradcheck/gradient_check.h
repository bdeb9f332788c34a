// Derived gradients against finite differences, in float64, for any graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

struct GradientCheckOptions {
  double tolerance = 1e-6;                    // of the relative error
  std::uint64_t seed = 1;                     // of parameters, feeds, weights and dropout
  std::map<std::string, std::int64_t> sizes;  // of symbols; the others get small ones
  std::int64_t most_elements = 200;           // of each tensor
  // Multiplies what was derived: so that a test can show that a gradient wrong by a thousandth is found.
  double scale_derived = 1;
};

struct GradientCheckResult {
  struct Tensor {
    std::string name;
    std::string kind;  // "parameter", "input", "state"
    std::string sizes;
    std::int64_t elements = 0, checked = 0;
    bool zero = true;                     // every derived element that was checked is
    double error = 0;                     // the largest relative one
    std::int64_t worst = 0;               // the element that has it, row-major
    double derived = 0, differences = 0;  // of that element
  };
  std::vector<Tensor> tensors;
  double scalar = 0;  // what was differentiated

  double error() const;   // the largest
  bool all_zero() const;  // nothing was tested
  bool passed(double tolerance) const { return !all_zero() && error() <= tolerance; }
};

// The scalar is a fixed random weighting of all FLOAT outputs and next states; it is differentiated by every parameter, FLOAT
// input and FLOAT state. The relative error of an element is |derived - differences| / max(|derived|, |differences|, 1e-4);
// infinite where either is not finite. Where the function has a corner within the difference's reach, nearer points decide.
// Throws UserError (kInvalidGraph, E0330) where the graph has no FLOAT output or nothing to differentiate by.
GradientCheckResult check_gradients(ir::Graph graph, const GradientCheckOptions& options);

}  // namespace graphrun
