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

enum class GradientVerdict : std::uint8_t {
  kRight,
  kIllConditioned,  // the differences cannot tell: rounding of the scalar, or curvature, is larger than what is looked for
  kWrong,
};

struct GradientCheckResult {
  struct Tensor {
    std::string name;
    std::string kind;  // "parameter", "input", "state"
    std::string sizes;
    std::int64_t elements = 0, checked = 0;
    bool zero = true;                                   // every derived element that was checked is
    GradientVerdict verdict = GradientVerdict::kRight;  // the worst of an element
    double error = 0;                                   // the largest relative one, of the elements of that verdict
    std::int64_t worst = 0;                             // the element that has it, row-major
    double derived = 0, differences = 0;                // of that element
  };
  std::vector<Tensor> tensors;
  double scalar = 0;  // what was differentiated

  double error() const;             // the largest
  bool all_zero() const;            // nothing was tested
  GradientVerdict verdict() const;  // the worst
  bool passed() const { return !all_zero() && verdict() == GradientVerdict::kRight; }
};

// The scalar is a fixed random weighting of all FLOAT outputs and next states; it is differentiated by every parameter, FLOAT
// input and FLOAT state. The relative error of an element is |derived - differences| / max(|derived|, |differences|, 1e-4);
// infinite where either is not finite. It may exceed the tolerance by what the rounding of the scalar's terms can make of the
// differences: their magnitude's rounding over the step. Where the function has a corner within the difference's reach, nearer
// points decide. An element that differs is wrong where differences of two steps agree well enough to say so, else
// ill-conditioned. Throws UserError (kInvalidGraph, E0330) where the graph has no FLOAT output or nothing to differentiate by.
GradientCheckResult check_gradients(ir::Graph graph, const GradientCheckOptions& options);

}  // namespace graphrun
